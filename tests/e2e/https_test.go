package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// HTTPS: a host under tls is shown the certificate of its Secret, and requests for it on the HTTP port are redirected with 308; a name that nobody serves is shown the node's own
// self-signed certificate. A wildcard host is served for one label and not for two. A certificate that is renewed is shown without a lost request, and keys stand on a node's disk
// as files that only their owner reads.
func TestHTTPS(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	r.Service("web", 2)
	secure := func(name, host string) cluster.Route {
		route := rig.Route("web")
		route.Name, route.Host, route.TLSSecret = name, host, name
		return route
	}
	renew := func(name string, hosts ...string) {
		t.Helper()
		secret, err := cluster.Certificate(rig.Namespace, name, hosts...)
		r.Must(err)
		r.Must(r.Put(secret))
	}
	renew("secure", "secure.example.com")
	renew("wild", "*.wild.example.com")
	r.Must(r.AddRoute(secure("secure", "secure.example.com")))
	r.Must(r.AddRoute(secure("wild", "*.wild.example.com")))
	both := secure("both", "both.example.com")
	both.TLSSecret, both.Annotations = "secure", map[string]string{"berth.dev/ssl-redirect": "false"}
	r.Must(r.AddRoute(both))
	r.WaitServed("web")
	r.WaitCurrent()
	served := rig.Answer{Status: http.StatusOK, Service: "shop/web"}
	r.WaitAnswer("both.example.com", "/", served)

	for _, n := range r.Nodes {
		for _, x := range []struct {
			host, path, certificate string
			want                    rig.Answer
		}{
			{"secure.example.com", "/", "secure", served},
			{"a.wild.example.com", "/cart", "wild", served},
			{"both.example.com", "/", "secure", served},
			{"web.example.com", "/", "", served},
			{"nobody.example.org", "/", "", rig.Answer{Status: http.StatusNotFound}},
			{"a.b.wild.example.com", "/", "", rig.Answer{Status: http.StatusNotFound}},
		} {
			got, certificate, err := n.GetTLS(x.host, x.path)
			if err != nil || got.Status != x.want.Status || got.Service != x.want.Service {
				t.Errorf("%s: https://%s%s gets %+v, %v; want %+v", n.Label(), x.host, x.path, got, err, x.want)
			}
			if own := certificate == "secure" || certificate == "wild"; x.certificate != "" && certificate != x.certificate || x.certificate == "" && own {
				t.Errorf("%s: https://%s is shown the certificate %q, want %q", n.Label(), x.host, certificate, x.certificate)
			}
		}
		for host, location := range map[string]string{
			"secure.example.com": "https://secure.example.com/cart?a=b", "x.wild.example.com": "https://x.wild.example.com/cart?a=b",
		} {
			got, err := n.Get(host, "/cart?a=b")
			if err != nil || got.Status != http.StatusPermanentRedirect || got.Location != location {
				t.Errorf("%s: http://%s/cart?a=b gets %+v, %v; want 308 to %s", n.Label(), host, got, err, location)
			}
		}
		checkKeys(t, n)
	}
	renewUnderLoad(t, r, func() { renew("secure", "secure.example.com", "both.example.com") })
}

// renewUnderLoad renews a certificate while clients use it over HTTP/1 and HTTP/2.
func renewUnderLoad(t *testing.T, r *rig.Rig, renew func()) {
	t.Helper()
	before := map[*rig.Node]string{}
	c := loadgen.Config{
		Rate: 200, Routes: []loadgen.Route{{Host: "secure.example.com", Service: "shop/web"}},
		Loads: []loadgen.Load{
			{Profile: loadgen.NewConnections, Clients: 1}, {Profile: loadgen.KeepAlive, Clients: 1}, {Profile: loadgen.Post, Clients: 1}, {Profile: loadgen.HTTP2, Clients: 1},
		},
	}
	for _, n := range r.Nodes {
		c.Targets = append(c.Targets, loadgen.Target{Name: n.Label(), Address: n.HTTPS(), TLS: true})
		serial, err := n.Serial("secure.example.com")
		r.Must(err)
		before[n] = serial
	}
	l := startLoad(t, c)
	renew()
	for _, n := range r.Nodes {
		waitNil(t, n.Label()+" to show the new certificate", func() error {
			serial, err := n.Serial("secure.example.com")
			if err == nil && serial == before[n] {
				err = fmt.Errorf("it shows the old one, %s", serial)
			}
			return err
		})
	}
	r.WaitCurrent()
	unharmed(t, l.end(), c)
}

// checkKeys checks that keys are files which nobody else may read.
func checkKeys(t *testing.T, n *rig.Node) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.StateDir, "certs", "*.pem"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%s: the certificates on disk: %v, %v", n.Label(), files, err)
	}
	for _, file := range append(files, filepath.Join(n.StateDir, "certs")) {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %s has mode %v (%v)", n.Label(), file, info.Mode(), err)
		}
	}
	journal, err := os.ReadDir(filepath.Join(n.StateDir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range journal {
		text, _ := os.ReadFile(filepath.Join(n.StateDir, "journal", e.Name()))
		if bytes.Contains(text, []byte("PRIVATE KEY")) {
			t.Errorf("%s: the journal's file %s has a private key", n.Label(), e.Name())
		}
	}
}
