package worker_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
)

// A pod's cookie is its own, whichever way its server came by the address: HAProxy 2.6 gives none to a server that is added with it.
func TestTheCookieIsThePods(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		w.CanAdd = true
		pods := []*pod{newPod(t), newPod(t)}
		for i, slots := range [][]snapshot.Slot{
			{slot(pods[0].port, 100)},     // the slot of the configuration
			{{}, slot(pods[0].port, 100)}, // added
			{{}, {}, {}},
			{slot(pods[1].port, 100), {}, slot(pods[0].port, 100)}, // added free
			{slot(pods[0].port, 100), slot(pods[1].port, 100)},     // written over
		} {
			if out := apply(t, w, []worker.Table{{Backend: "sticky", Slots: slots}}); !out.Complete() || len(out.Refused) > 0 {
				t.Fatalf("step %d: %+v", i, out)
			}
			for _, s := range slots {
				for _, p := range pods {
					if int(s.Port) == p.port {
						p.meet(t, dir, i)
					}
				}
			}
		}
	})
}

// pod answers with its port, and keeps the cookie by which it is found.
type pod struct {
	port   int
	cookie string
}

func newPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, p.port) }))
	t.Cleanup(s.Close)
	p.port = s.Listener.Addr().(*net.TCPAddr).Port
	return p
}

// meet asks until the pod answers, and then as a client that it has given its cookie.
func (p *pod) meet(t *testing.T, dir string, step int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, "web.sock"))
	}}}
	ask := func(cookie string) (body, given string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://web/sticky", nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != "" {
			req.AddCookie(&http.Cookie{Name: "stay", Value: cookie})
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		for _, c := range resp.Cookies() {
			given = c.Value
		}
		return string(text), given
	}
	own := strconv.Itoa(p.port)
	body, cookie := "", ""
	for n := 0; body != own; n++ {
		if body, cookie = ask(""); n > 20 {
			t.Fatalf("step %d: pod %s is not asked, %s is", step, own, body)
		}
	}
	if cookie == "" || p.cookie != "" && cookie != p.cookie {
		t.Fatalf("step %d: pod %s gives the cookie %q, want %q", step, own, cookie, p.cookie)
	}
	p.cookie = cookie
	for range 4 {
		if body, given := ask(cookie); body != own || given != "" {
			t.Fatalf("step %d: the client of pod %s is served by %s and given %q", step, own, body, given)
		}
	}
}
