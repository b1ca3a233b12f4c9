package compile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// Every value of every annotation is taken by both versions without a warning, a checked server takes traffic at once, and its checks pass.
func TestAnnotationsOnHAProxy(t *testing.T) {
	p := newPods(t, "web")
	r := newRig(t)
	text := p.yaml()
	var hosts []string
	for i, annotation := range []string{
		"balance: roundrobin", "balance: leastconn", "balance: random", "balance: source", "balance: uri",
		"timeout-connect: 1500us", "timeout-connect: 24d", "timeout-server: 9m", "timeout-queue: 24d", "timeout-server: 596h",
		"check: tcp", "check: tcp, berth.dev/check-interval: 24d", "check: tcp, berth.dev/check-interval: 1ms",
		`check: "http:/ready?x='\"\\$HOME${HOME}%[src];{}", berth.dev/check-interval: 20ms`, "slots-minimum: '9'",
		"affinity: none", "affinity: cookie", "affinity: cookie, berth.dev/affinity-cookie-name: a.B_c-9", "affinity: cookie, berth.dev/sticky-drain: keep",
		"affinity: cookie, berth.dev/sticky-drain: break, berth.dev/balance: uri", "backend-protocol: http", "max-connections: '1'", "max-connections: '1000000'",
	} {
		host := fmt.Sprintf("h%d.example.com", i)
		hosts = append(hosts, host)
		text += ingress(fmt.Sprintf("i%d", i), "annotations: {berth.dev/"+annotation+"}", "", host+" / web")
	}
	r.put("", text)
	expect(t, "problems", r.problems("default"), "")
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		h := serve(t, haproxy, r.kept["default"])
		for i, host := range hosts {
			if got, _ := h.ask(explain.Request{Host: host, Target: "/"}); got != "web" {
				t.Errorf("Ingress i%d: %s", i, got)
			}
		}
		const want = `GET /ready?x='"\$HOME${HOME}%[src];{} web.shop.svc HTTP/1.1`
		for deadline := time.Now().Add(10 * time.Second); ; {
			p.mu.Lock()
			checked := slices.Contains(p.asked["web"], want)
			asked := len(p.asked["web"])
			p.mu.Unlock()
			if checked {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no check asked for %s, of %d requests: %q", want, asked, p.asked["web"])
			}
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // between two looks at a state, with a deadline
		}
	})
}

// What is spoken to a pod is what was asked for and nothing else, by the annotation or by the port's appProtocol; over TLS the pod is told the host that the client asked
// for. Checks speak the same.
func TestProtocolsOnHAProxy(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		p := newPods(t)
		var text strings.Builder
		for _, protocol := range []desired.Protocol{desired.HTTP, desired.H2C, desired.HTTPS, desired.H2} {
			for _, check := range []string{"none", "tcp", "http:/ready"} {
				name := string(protocol) + "-" + check[:3]
				p.start(t, name, protocol)
				text.WriteString(ingress(name, fmt.Sprintf("annotations: {berth.dev/backend-protocol: %s, berth.dev/check: '%s', berth.dev/check-interval: 1s}", protocol, check), "",
					name+".example.com / "+name))
			}
		}
		for says, protocol := range map[string]desired.Protocol{
			"kubernetes.io/h2c": desired.H2C, "kubernetes.io/ws": desired.HTTP, "kubernetes.io/wss": desired.HTTPS, "http": desired.HTTP, "https": desired.HTTPS,
			"http2": desired.H2C, "h2c": desired.H2C, "grpc": desired.H2C, "example.com/own": desired.HTTP,
		} {
			name := "says-" + strings.NewReplacer("/", "-", ".", "-").Replace(says)
			p.start(t, name, protocol)
			p.appProtocol[name] = says
			text.WriteString(ingress(name, "", "", name+".example.com / "+name))
		}
		p.start(t, "overruled", desired.HTTP) // the annotation wins over the port
		p.appProtocol["overruled"] = "kubernetes.io/h2c"
		text.WriteString(ingress("overruled", "annotations: {berth.dev/backend-protocol: http}", "", "overruled.example.com / overruled", "- /none none"))

		r := newRig(t)
		r.put("", p.yaml()+text.String())
		expect(t, "problems", r.problems("default"), "warned Ingress shop/overruled (home): path \"/none\" of host \"\" names the service shop/none, which does not exist; create it; it answers 503")
		h := serve(t, haproxy, r.kept["default"])
		for name, says := range p.says {
			host := name + ".example.com"
			if got, _ := h.ask(explain.Request{Host: strings.ToUpper(host) + ".:80", Target: "/"}); got != name {
				t.Errorf("%s: %s", name, got)
			}
			want := fmt.Sprintf("GET / %s.:80 %s", strings.ToUpper(host), map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[says == desired.H2C || says == desired.H2])
			if says.TLS() {
				want += " " + host
			}
			if was, asked := p.was(name, want); !was {
				t.Errorf("%s was asked %q, want %q", name, asked, want)
			}
		}
		h.checked("shop_http-tcp_http", "L4OK")
		h.checked("shop_h2c-tcp_http", "L4OK")
		h.checked("shop_https-tcp_http", "L6OK")
		h.checked("shop_h2-tcp_http", "L6OK")
		for _, protocol := range []desired.Protocol{desired.HTTP, desired.H2C, desired.HTTPS, desired.H2} {
			h.checked("shop_"+string(protocol)+"-htt_http", "L7OK")
		}
		for name, want := range map[string]string{"h2c-htt": "GET /ready h2c-htt.shop.svc HTTP/2.0", "https-htt": "GET /ready https-htt.shop.svc HTTP/1.1 https-htt.shop.svc",
			"h2-htt": "GET /ready h2-htt.shop.svc HTTP/2.0 h2-htt.shop.svc"} {
			if was, asked := p.was(name, want); !was {
				t.Errorf("%s was asked %q, want the check %q", name, asked, want)
			}
		}
	})
}

// A connection over TLS is made for one server name, and no request for another host is sent over it.
func TestNoConnectionServesTwoNames(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		for _, protocol := range []desired.Protocol{desired.HTTPS, desired.H2} {
			p := newPods(t)
			p.start(t, "web", protocol)
			r := newRig(t)
			r.put("", p.yaml()+ingress("web", "annotations: {berth.dev/backend-protocol: "+string(protocol)+"}", "", "a.example.com / web", "b.example.com / web", "- / web"))
			h := serve(t, haproxy, r.kept["default"])
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "tcp", h.plain)
			}, MaxConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for i := range 30 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://one.connection/", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = []string{"a.example.com", "b.example.com", "127.0.0.1:8080", "[::1]:80", "localhost"}[i%5]
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%s, %s: %d, %v", protocol, req.Host, resp.StatusCode, err)
				}
				_ = resp.Body.Close()
			}
			_, asked := p.was("web", "")
			for _, a := range asked {
				f := strings.Fields(a + " -")
				want := f[2]
				if strings.Contains(want, ":80") {
					want = "-" // an address is no server name
				}
				if f[4] != want {
					t.Errorf("a request for %s came over a connection for %s", f[2], f[4])
				}
			}
		}
	})
}

// A pod is sent no more requests at once than it may have; who finds no place waits, as long as timeout-queue says.
func TestMaxConnections(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		p := newPods(t, "web")
		r := newRig(t)
		r.put("", p.yaml()+ingress("short", "annotations: {berth.dev/max-connections: '2', berth.dev/timeout-queue: 100ms}", "", "short.example.com / web")+
			ingress("long", "annotations: {berth.dev/max-connections: '2', berth.dev/timeout-queue: 1m}", "", "long.example.com / web"))
		h := serve(t, haproxy, r.kept["default"])
		for host, outcome := range map[string]string{"short.example.com": "503", "long.example.com": "web"} {
			release := p.hold("web")
			var all sync.WaitGroup
			answers := make(chan string, 3)
			ask := func(want int) {
				all.Go(func() {
					got, _ := h.ask(explain.Request{Host: host, Target: "/"})
					answers <- got
				})
				for deadline := time.Now().Add(10 * time.Second); p.waiting("web") != want; time.Sleep(time.Millisecond) { //nolint:forbidigo // between two looks at a state, with a deadline
					if time.Now().After(deadline) {
						t.Fatalf("%s: %d requests wait at the pod, want %d", host, p.waiting("web"), want)
					}
				}
			}
			ask(1)
			ask(2)
			ask(2)
			if outcome == "503" {
				if got := <-answers; got != outcome {
					t.Errorf("%s: who waited too long got %s", host, got)
				}
			} else {
				h.queued("shop_web_http", 1)
			}
			if n := p.waiting("web"); n != 2 {
				t.Errorf("%s: %d requests at once", host, n)
			}
			release()
			all.Wait()
			close(answers)
			for got := range answers {
				if got != "web" {
					t.Errorf("%s: %s", host, got)
				}
			}
		}
	})
}

// checked waits until the first server of the backend whose name begins so has a check of this outcome.
func (h *running) checked(backend, want string) {
	h.t.Helper()
	h.stat(backend, "s1", want, func(f []string) string { return f[36] })
}

// queued waits until that many requests wait for a server of a backend whose name begins so.
func (h *running) queued(backend string, want int) {
	h.t.Helper()
	h.stat(backend, "BACKEND", fmt.Sprint(want), func(f []string) string { return f[2] })
}

// stat waits until one line of the statistics has what is wanted of it.
func (h *running) stat(backend, server, want string, field func([]string) string) {
	h.t.Helper()
	last := ""
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // between two looks at a state, with a deadline
		for _, line := range strings.Split(h.runtime("show stat"), "\n") {
			if f := strings.Split(line, ","); len(f) > 65 && strings.HasPrefix(f[0], backend) && f[1] == server {
				if field(f) == want {
					return
				}
				last = line
			}
		}
	}
	h.t.Errorf("%s/%s is never %s: %s", backend, server, want, last)
}

// runtime asks the worker's socket.
func (h *running) runtime(command string) string {
	h.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(h.dir, render.WorkerSocket))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		h.t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(answer)
}
