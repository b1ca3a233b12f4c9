package compile

import (
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

// pods are small HTTP servers, one for each service, that answer with the service's name.
type pods struct {
	mu    sync.Mutex
	addrs map[string]string
	// asked has the requests that each service was sent, "METHOD target host proto", and over TLS the server name.
	asked map[string][]string
	// appProtocol is what a service says of its port.
	appProtocol map[string]string
	// held has the services whose pods wait with their answers, and how many requests wait there.
	held map[string]chan struct{}
	wait map[string]int
	// sets is a cookie that all pods set.
	sets string
	// says is what the pods of a service speak.
	says map[string]desired.Protocol
}

func newPods(t *testing.T, services ...string) *pods {
	t.Helper()
	p := &pods{addrs: map[string]string{}, asked: map[string][]string{}, appProtocol: map[string]string{}, says: map[string]desired.Protocol{},
		held: map[string]chan struct{}{}, wait: map[string]int{}}
	for _, name := range services {
		p.start(t, name, desired.HTTP)
	}
	return p
}

// start starts a pod of a service that speaks one protocol and no other.
func (p *pods) start(t *testing.T, name string, speaks desired.Protocol) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Protocols: &http.Protocols{}, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		words := []string{r.Method, r.RequestURI, r.Host, r.Proto}
		if r.TLS != nil {
			words = append(words, r.TLS.ServerName)
		}
		p.mu.Lock()
		p.asked[name] = append(p.asked[name], strings.Join(words, " "))
		held := p.held[name]
		p.wait[name]++
		p.mu.Unlock()
		if held != nil {
			<-held
		}
		p.mu.Lock()
		p.wait[name]--
		p.mu.Unlock()
		if p.sets != "" {
			w.Header().Set("Set-Cookie", p.sets)
		}
		_, _ = io.WriteString(w, name)
	})}
	next := ""
	switch speaks {
	case desired.HTTP:
		server.Protocols.SetHTTP1(true)
	case desired.H2C:
		server.Protocols.SetUnencryptedHTTP2(true)
	case desired.HTTPS:
		server.Protocols.SetHTTP1(true)
		next = "http/1.1"
	case desired.H2:
		server.Protocols.SetHTTP2(true)
		next = "h2"
	}
	if next != "" {
		pem := haproxytest.SelfSigned(t, name)
		pair, err := tls.X509KeyPair(pem, pem)
		if err != nil {
			t.Fatal(err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{next}}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if next != "" {
			_ = server.ServeTLS(l, "", "")
			return
		}
		_ = server.Serve(l)
	})
	t.Cleanup(func() {
		_ = server.Close()
		wait.Wait()
	})
	p.addrs[name], p.says[name] = l.Addr().String(), speaks
}

// was says whether a service was sent a request, and all that it was sent.
func (p *pods) was(service, asked string) (bool, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.asked[service], asked), slices.Clone(p.asked[service])
}

// hold makes a service's pod wait with its answers until it is released.
func (p *pods) hold(name string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held[name] = held
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.held, name)
		close(held)
	}
}

// waiting is how many requests a service's pod has not answered.
func (p *pods) waiting(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait[name]
}

// yaml writes a Service and its slice for each service.
func (p *pods) yaml() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.addrs)) {
		host, port, _ := net.SplitHostPort(p.addrs[name])
		text := strings.ReplaceAll(service(name, host), "port: 8080", "port: "+port)
		if says := p.appProtocol[name]; says != "" {
			text = strings.Replace(text, "port: 80}", "port: 80, appProtocol: "+says+"}", 1)
		}
		b.WriteString(text)
	}
	return b.String()
}
