package compile

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// running is a HAProxy that serves what a rig compiled.
type running struct {
	t             *testing.T
	dir           string
	plain, secure string
}

// serve renders a fleet as a node with default settings does, checks it without a warning and starts it. It ends with the test.
func serve(t *testing.T, haproxy string, k *kept) *running {
	t.Helper()
	h := &running{t: t, dir: t.TempDir()}
	plain, secure := haproxytest.FreePort(t), haproxytest.FreePort(t)
	h.plain, h.secure = fmt.Sprintf("127.0.0.1:%d", plain), fmt.Sprintf("127.0.0.1:%d", secure)
	files, err := render.Files(k.revision, k.generation, render.DefaultMachine(render.Settings{StateDir: h.dir, HTTPPort: plain, HTTPSPort: secure, BindAddress: "127.0.0.1"}))
	if err != nil {
		t.Fatal(err)
	}
	for x := range snapshot.Of[*snapshot.Certificate](k.revision, snapshot.KindCertificate) {
		files[render.CertificateFile(x)] = x.PEM
	}
	files[render.DefaultCertificate] = []byte(defaultPEM())
	haproxytest.Write(t, h.dir, files)
	haproxytest.Start(t, haproxy, filepath.Join(h.dir, render.ConfigFile), "tcp", h.plain)
	return h
}

// ask sends one request exactly as it stands and gives the answer in the words of rig.ask, with the name of the pod that answered for a backend, and
// the common name of the certificate that was shown.
func (h *running) ask(req explain.Request) (answer, certificate string) {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.plain)
	if req.TLS {
		sni, _, _ := strings.Cut(req.Host, ":")
		var secure *tls.Conn
		secure, err = tls.Dial("tcp", h.secure, &tls.Config{InsecureSkipVerify: true, ServerName: strings.TrimRight(sni, "."), NextProtos: []string{"http/1.1"}})
		if err == nil {
			certificate = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
		}
		conn = secure
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", req.Target, req.Host); err != nil {
		h.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	switch {
	case resp.StatusCode == 200:
		return string(body), certificate
	case resp.StatusCode/100 == 3:
		return fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Location")), certificate
	default:
		return fmt.Sprint(resp.StatusCode), certificate
	}
}

// routing is a fleet in which every rule of routing is at work. Services are named after what should lead to them.
func routing() string {
	return ingress("a", "creationTimestamp: 2020-01-01T00:00:00Z", "tls: [{hosts: [tls.example.com, '*.wild.example.com'], secretName: cert}],",
		"shop.example.com / root", "shop.example.com /foo foo", "shop.example.com /foo/bar/ foobar", "tls.example.com / tls", "*.wild.example.com / wild",
		"in.wild.example.com / inwild", "shared.example.com /never never", "gone.example.com / gone", "sub.example.com /only root") +
		ingress("plain", "annotations: {berth.dev/ssl-redirect: 'false'}", "tls: [{hosts: [plain.example.com], secretName: cert}],", "plain.example.com / plain") +
		ingress("broken", "", "tls: [{hosts: [broken.example.com, hidden.wild.example.com, shared.example.com], secretName: broken}],",
			"broken.example.com / root", "shared.example.com / root") +
		ingress("own", "creationTimestamp: 2021-01-01T00:00:00Z", "defaultBackend: {service: {name: owndefault, port: {number: 80}}},", "own.example.com /x root", "sub.example.com /more foo") +
		ingress("any", "", "", "- /any any") +
		`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: exact, namespace: shop}
spec:
  ingressClassName: berth
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /foo, pathType: Exact, backend: {service: {name: exact, port: {number: 80}}}}
      - {path: /foo/end/, pathType: Exact, backend: {service: {name: exact, port: {number: 80}}}}
      - {path: "/we'ir\"d\\$HOME%[src]#x;{}", pathType: Exact, backend: {service: {name: exact, port: {number: 80}}}}
  - host: empty.example.com
` + secretYAML("cert", 0) +
		"---\n{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: broken, namespace: shop}, stringData: {tls.crt: nothing, tls.key: nothing}}\n"
}

// A request, and the service or status that it must get.
var requests = []struct{ url, want string }{
	{"http://shop.example.com/", "root"},
	{"http://shop.example.com", "root"},
	{"http://shop.example.com?q=/foo", "root"},
	{"http://shop.example.com/foo", "exact"},
	{"http://shop.example.com/foo?a=1", "exact"},
	{"http://shop.example.com/foo/", "foo"},
	{"http://shop.example.com/foo/x", "foo"},
	{"http://shop.example.com/foo/end/", "exact"},
	{"http://shop.example.com/foo/end", "foo"},
	{"http://shop.example.com/foobar", "root"},
	{"http://shop.example.com/fo", "root"},
	{"http://shop.example.com/foo/bar", "foobar"},
	{"http://shop.example.com/foo/bar/", "foobar"},
	{"http://shop.example.com/foo/bar/2", "foobar"},
	{"http://shop.example.com/foo/barn", "foo"},
	{"http://shop.example.com//foo/bar", "root"},
	{"http://shop.example.com/foo//bar", "foo"},
	{"http://shop.example.com/FOO/bar", "root"},
	{"http://shop.example.com/%66oo/bar", "root"},
	{"http://shop.example.com/foo/../foo/bar", "foo"},
	{"http://SHOP.Example.COM:80/foo/1", "foo"},
	{"http://shop.example.com.:8080/foo/1", "foo"},
	{"https://shop.example.com/foo/1", "foo"},
	{"http://shop.example.com.evil.example/", "owndefault"},
	{"http://x.shop.example.com/", "owndefault"},
	{"http://tls.example.com/a/b?c=d&e", "308 https://tls.example.com/a/b?c=d&e"},
	{"http://TLS.example.com:8080/", "308 https://tls.example.com/"},
	{"https://tls.example.com/a", "tls"},
	{"http://a.wild.example.com/", "308 https://a.wild.example.com/"},
	{"https://a.wild.example.com/", "wild"},
	{"http://in.wild.example.com/", "308 https://in.wild.example.com/"},
	{"https://in.wild.example.com/", "inwild"},
	{"http://b.a.wild.example.com/", "owndefault"},
	{"https://b.a.wild.example.com/", "owndefault"},
	{"http://wild.example.com/", "owndefault"},
	{"http://plain.example.com/", "plain"},
	{"https://plain.example.com/", "plain"},
	{"http://broken.example.com/", "503"},
	{"https://broken.example.com/", "503"},
	{"http://shared.example.com/never/x", "never"}, // an older Ingress has it: a bad object harms itself alone
	{"http://shared.example.com/", "503"},
	{"http://hidden.wild.example.com/", "503"},
	{"https://hidden.wild.example.com/x", "503"},
	{"http://gone.example.com/", "503"},
	{"http://own.example.com/x", "root"},
	{"http://own.example.com/y", "owndefault"},
	{"http://sub.example.com/only/a", "root"},
	{"http://sub.example.com/more", "foo"},
	{"http://sub.example.com/", "owndefault"},
	{"http://empty.example.com/", "owndefault"},
	{"http://nobody.example.com/any", "any"},
	{"http://nobody.example.com/anything", "owndefault"},
	{"http://empty.example.com/any", "owndefault"},
	{"http://127.0.0.1:8080/any", "any"},
	{"http://[::1]:8080/any", "any"},
	{"http://[::1]/any", "any"},
	{"http://localhost/any", "any"},
	{"http://-/any", "any"},
	{"http://*.wild.example.com/", "308 https://*.wild.example.com/"},
}

// COMP-5, EXPL-1: the same requests to Explain and to HAProxy, and both give what the rules of routing say.
func TestExplainIsWhatHAProxyDoes(t *testing.T) {
	p := newPods(t, "root", "foo", "foobar", "exact", "tls", "wild", "inwild", "plain", "owndefault", "any", "never")
	r := newRig(t)
	r.put("", p.yaml()+routing())
	k := r.kept["default"]
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		h := serve(t, haproxy, k)
		table := slices.Clone(requests)
		table = append(table, struct{ url, want string }{`http://shop.example.com/we'ir"d\$HOME%[src]#x;{}`, "root"})
		for _, tt := range table {
			req, err := parseURL(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			x, err := r.c.Explain("default", tt.url, k.generation)
			if err != nil {
				t.Fatal(err)
			}
			told := r.ask("default", tt.url)
			if x.Outcome == explain.ToBackend {
				told = strings.TrimSuffix(strings.TrimPrefix(x.Service, "shop/"), ":http")
			}
			got, certificate := h.ask(req)
			if told != tt.want || got != tt.want && !(got == "400" && strings.ContainsAny(tt.url, `"\`)) {
				t.Errorf("%s: explained %s, HAProxy answers %s, want %s\n%s", tt.url, told, got, tt.want, strings.Join(x.Steps, "\n"))
			}
			if want := map[string]string{"": "", "default": "default", "shop/cert": "test 0"}[x.Certificate]; certificate != want {
				t.Errorf("%s: the certificate is explained as %q, HAProxy shows %q", tt.url, x.Certificate, certificate)
			}
		}
	})
}
