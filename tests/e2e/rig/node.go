package rig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
)

// Worker is the identity of the worker that answers now.
func (n *Node) Worker() (haproxy.Identity, error) {
	pid, err := haproxy.WorkerPID(n.WorkerSocket())
	if err != nil {
		return haproxy.Identity{}, fmt.Errorf("find the worker of node %s: %w", n.Node, err)
	}
	return haproxy.Identify(pid)
}

// Workers are the workers of all nodes, for a test that says that none of them changes.
func (r *Rig) Workers() map[string]haproxy.Identity {
	r.t.Helper()
	workers := map[string]haproxy.Identity{}
	for _, n := range r.Nodes {
		id, err := n.Worker()
		r.Must(err)
		workers[n.Label()] = id
	}
	return workers
}

// CheckSameWorkers fails the test if a node was reloaded.
func (r *Rig) CheckSameWorkers(before map[string]haproxy.Identity) {
	r.t.Helper()
	for label, now := range r.Workers() {
		if now != before[label] {
			r.t.Errorf("%s was reloaded: worker %v became %v", label, before[label], now)
		}
	}
}

// Snapshot is what one worker answered at one moment.
type Snapshot struct {
	PID     int
	Servers []haproxy.Server
}

// Look asks the worker who it is and what it has, in one question, so that both are of the same worker.
func (n *Node) Look(backend string) (Snapshot, error) {
	pid, servers, err := haproxy.Look(n.WorkerSocket(), backend)
	if err != nil {
		return Snapshot{}, fmt.Errorf("look at node %s: %w", n.Node, err)
	}
	return Snapshot{PID: pid, Servers: servers}, nil
}

// Has says whether a server with the address and state is among the servers.
func Has(servers []haproxy.Server, address netip.AddrPort, state haproxy.State) bool {
	return slices.ContainsFunc(servers, func(s haproxy.Server) bool { return s.Address == address && s.State == state })
}

// WaitCurrent waits until the plane says that every node has the newest, and each worker's own answer equals what the plane wants.
func (r *Rig) WaitCurrent() {
	r.t.Helper()
	harness.WaitForNil(r.t, patience, "all nodes to have the newest", func() error {
		nodes, err := r.Ask()
		if err != nil {
			return err
		}
		for _, n := range r.Nodes {
			if s := nodes[n.Node]; s.GetState() != adminv1.NodeState_NODE_STATE_CURRENT {
				return fmt.Errorf("node %s is %s: %s %s", n.Node, s.GetState(), s.GetCode(), s.GetMessage())
			}
			if err := r.Differs(n, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// Differs says how a node's worker differs from what the plane wants, nil if it does not (see Compare).
func (r *Rig) Differs(n *Node, loaded bool) error {
	wanted, err := r.Wanted(n.Fleet)
	if err != nil {
		return err
	}
	servers, err := haproxy.Servers(n.WorkerSocket(), "")
	if err != nil {
		return err
	}
	if err := Compare(wanted, servers, loaded); err != nil {
		return fmt.Errorf("node %s: %w", n.Node, err)
	}
	return nil
}

// An Answer is what a request got.
type Answer struct {
	Status       int
	Service, Pod string
	Location     string
}

// Get sends one GET with a connection of its own.
func (n *Node) Get(host, path string) (Answer, error) {
	return get(&http.Client{}, "http://"+n.HTTP()+path, host)
}

func get(client *http.Client, url, host string) (Answer, error) {
	client.Timeout = askTime
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport, _ := client.Transport.(*http.Transport)
	if transport == nil {
		transport = &http.Transport{}
		client.Transport = transport
	}
	transport.DisableKeepAlives = true
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("make a request for %s: %w", url, err)
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("send a request for %s: %w", host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return Answer{resp.StatusCode, resp.Header.Get("X-Service"), resp.Header.Get("X-Pod"), resp.Header.Get("Location")}, err
}

// WaitAnswer waits until every node answers requests for a host and path in a way.
func (r *Rig) WaitAnswer(host, path string, want Answer) {
	r.t.Helper()
	for _, n := range r.Nodes {
		harness.WaitForNil(r.t, patience, fmt.Sprintf("node %s to answer %s%s with %+v", n.Label(), host, path, want), func() error {
			got, err := n.Get(host, path)
			if err == nil && (got.Status != want.Status || got.Service != want.Service) {
				err = fmt.Errorf("it answers %+v", got)
			}
			return err
		})
	}
}

// WaitServed waits until every node sends requests for a service to it.
func (r *Rig) WaitServed(service string) {
	r.t.Helper()
	r.WaitAnswer(Host(service), "/", Answer{Status: http.StatusOK, Service: Namespace + "/" + service})
}

// Config is the configuration that the node's HAProxy would start with.
func (n *Node) Config() (string, error) {
	text, err := os.ReadFile(filepath.Join(n.StateDir, "haproxy.cfg"))
	if err != nil {
		return "", fmt.Errorf("read the configuration of node %s: %w", n.Node, err)
	}
	return string(text), nil
}

// OldWorkers counts the workers that only finish what they have.
func (n *Node) OldWorkers() (int, error) {
	processes, err := haproxy.Processes(n.MasterSocket())
	if err != nil {
		return 0, fmt.Errorf("count the old workers of node %s: %w", n.Node, err)
	}
	old := 0
	for _, p := range processes {
		if p.Leaving {
			old++
		}
	}
	return old, nil
}

// Reloads counts a node's reloads by its agent's own metric, the first start left out.
func (n *Node) Reloads() (int, error) {
	all, err1 := Metric(n.MetricsAddress, "berth_agent_reloads_total")
	starts, err2 := Metric(n.MetricsAddress, "berth_agent_reloads_total", `reason="start"`)
	return int(all - starts), errors.Join(err1, err2)
}

// Within polls until a condition holds, for a time that the test promises.
func Within(d time.Duration, holds func() error) error {
	deadline := time.Now().Add(d)
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for ; ; <-ticks.C {
		late := time.Now().After(deadline)
		err := holds()
		if err == nil || late {
			return err
		}
	}
}

// GetTLS sends one GET over HTTPS, and returns the common name of the certificate that it was shown as well.
func (n *Node) GetTLS(host, path string) (Answer, string, error) {
	shown, err := n.certificate(host)
	if err != nil {
		return Answer{}, "", err
	}
	client := &http.Client{Transport: &http.Transport{
		// The certificates of tests are self-signed; which one it is, is what a test looks at.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: host},
	}}
	answer, err := get(client, "https://"+n.HTTPS()+path, host)
	return answer, shown.Subject.CommonName, err
}

// Serial is the serial number of the certificate that is shown for a host.
func (n *Node) Serial(host string) (string, error) {
	shown, err := n.certificate(host)
	if err != nil {
		return "", err
	}
	return shown.SerialNumber.String(), nil
}

func (n *Node) certificate(host string) (*x509.Certificate, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: askTime}, "tcp", n.HTTPS(), &tls.Config{InsecureSkipVerify: true, ServerName: host})
	if err != nil {
		return nil, fmt.Errorf("look at the certificate of node %s for %s: %w", n.Node, host, err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0], nil
}
