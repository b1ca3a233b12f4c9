package node_test

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(asAgent); config != "" {
		if err := runAsAgent(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // they wait more than they work
	goleak.VerifyTestMain(m)
}

func backend(name string) *snapshot.Backend { return &snapshot.Backend{Name: name, Defaults: "berth"} }

func route(path, to string) *snapshot.MapEntry {
	return &snapshot.MapEntry{Map: "exact", Name: path, Value: to}
}

func pod(t testing.TB, name string) int {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(name)) }))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	n, _ := strconv.Atoi(port)
	return n
}

// started is a node that serves one pod under /a.
func started(t *testing.T, binary string) (*machine, *agent, *state, int) {
	t.Helper()
	m := newMachine(t, binary)
	a, s, p := m.started()
	return m, a, s, p
}

func (m *machine) started() (*agent, *state, int) {
	m.t.Helper()
	a := m.start()
	s := newState()
	p := pod(m.t, "a")
	u := s.change(backend("a"), route("/a", "a"))
	u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
	a.must(u)
	a.must(s.slots("a", p, 0, 0, 0))
	a.applied(s)
	return a, s, p
}

func TestEndpointsAndRoutesChangeWithoutAReload(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		pid := m.pid()
		if status := m.get("/a"); status != 200 {
			t.Fatalf("status %d", status)
		}
		q := pod(t, "b")
		a.must(s.slots("a", -p, q, 0, 0))
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("(%d) %d - -", p, q); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		a.must(s.slots("a", 0, q, 0, 0))
		a.must(s.change(route("/other", "a"), route("/semi;colon", "a")))
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("- %d - -", q); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		for path, want := range map[string]int{"/other": 200, "/semi;colon": 200, "/none": 503} {
			if got := m.get(path); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
		a.must(s.change(snapshot.EntryKey("exact", "/other"), snapshot.EntryKey("exact", "/semi;colon")))
		a.applied(s)
		if got := m.get("/other"); got != 503 {
			t.Errorf("a route that went answers %d", got)
		}
		if m.pid() != pid {
			t.Error("HAProxy was reloaded")
		}
	})
}

func TestAStructuralChangeReloadsWithTheNewestSlots(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		pid := m.pid()
		q := pod(t, "b")
		a.must(s.change(backend("b"), route("/b", "b")))
		a.must(s.slots("b", q, 0, -p, 0))
		a.must(s.slots("a", 0, -q, p, 0))
		a.applied(s)
		if m.pid() == pid {
			t.Error("HAProxy was not reloaded")
		}
		if got, want := m.servers("a"), fmt.Sprintf("- (%d) %d -", q, p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got, want := m.servers("b"), fmt.Sprintf("%d - (%d) -", q, p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got := m.get("/b"); got != 200 {
			t.Errorf("the new route answers %d", got)
		}
	})
}

func TestATableGrowsByAddServerOrByAReload(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for _, add := range []bool{true, false} {
			t.Run(fmt.Sprint("add-servers=", add), func(t *testing.T) {
				m := newMachine(t, binary)
				m.cfg.AddServers = add
				a := m.start()
				s := newState()
				u := s.change(backend("a"), route("/a", "a"))
				u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
				a.must(u)
				p := pod(t, "a")
				a.must(s.slots("a", p, 0))
				a.applied(s)
				pid := m.pid()
				a.must(s.slots("a", p, p, p, -p, 0, p))
				a.applied(s)
				if got, want := m.servers("a"), fmt.Sprintf("%d %d %d (%d) - %d", p, p, p, p, p); got != want {
					t.Errorf("servers %q, want %q", got, want)
				}
				if reloaded := m.pid() != pid; reloaded == add {
					t.Errorf("reloaded %v with --add-servers=%v", reloaded, add)
				}
			})
		}
	})
}

func TestNODE5_ARefusedRevisionKeepsTheLastGoodOneAndEndpointsFlow(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		end := m.load("/a")
		defer end()
		pid := m.pid()
		good := s.rev
		bad := backend("bad")
		bad.Lines = []snapshot.Line{{"no-such-keyword"}}
		a.must(s.change(bad))
		refused := s.rev.Digest()
		a.until("the revision is refused", func() bool {
			for _, r := range a.Hello().Rejected {
				if string(r.GetDigest()) == string(refused[:]) && strings.Contains(r.GetMessage(), "no-such-keyword") {
					return true
				}
			}
			return false
		})
		a.must(s.slots("a", 0, p, 0, 0))
		a.until("the endpoint change is applied beside it", func() bool { return m.servers("a") == fmt.Sprintf("- %d - -", p) })
		if m.pid() != pid || a.Hello().Applied.Revision.Digest != good.Digest() {
			t.Error("the last good revision does not go on")
		}
		a.must(s.change(snapshot.Key{Kind: snapshot.KindBackend, Name: "bad"}, backend("good")))
		a.applied(s)
	})
}

func TestNODE7_AnOwnListenerIsNeverAServer(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		a.must(s.slots("a", p, m.cfg.Settings.HTTPPort, 0, 0))
		a.applied(s)
		if got, want := m.servers("a"), fmt.Sprintf("%d - - -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		news := a.box.Take()
		if e := news.Applied.GetExcepted(); len(e) != 1 || e[0].GetCode() != fleetv1.Code_CODE_OWN_LISTENER || e[0].GetSlot() != 2 {
			t.Errorf("excepted %v", e)
		}
	})
}

func TestAnAgentThatComesBackAdoptsWhatRuns(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		a.must(s.change(route("/late", "a")))
		a.applied(s)
		pid := m.pid()
		a.stop()
		if got := m.get("/late"); got != 200 {
			t.Errorf("without an agent HAProxy answers %d", got)
		}
		a = m.start()
		a.applied(s)
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		if m.pid() != pid {
			t.Error("the agent that came back reloaded HAProxy")
		}
		if got, want := m.servers("a"), fmt.Sprintf("- %d - -", p); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
	})
}

func TestAnAgentStartsFromItsOwnDisk(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, _ := started(t, binary)
		a.stop()
		m.endHAProxy()
		a = m.start() // there is no plane
		a.applied(s)
		if got := m.get("/a"); got != 200 {
			t.Errorf("status %d", got)
		}
	})
}

func TestTheConfigurationOnDiskFollowsRuntimeChanges(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		// Twice: the first may be written with what the start has left to write.
		for _, want := range []string{"192.0.2.1:1 192.0.2.1:1 192.0.2.1:1 pod", "192.0.2.1:1 pod 192.0.2.1:1 192.0.2.1:1"} {
			ports := make([]int, 4)
			for i, server := range strings.Fields(want) {
				if server == "pod" {
					ports[i] = p
				}
			}
			a.must(s.slots("a", ports...))
			a.applied(s)
			want = strings.ReplaceAll(want, "pod", fmt.Sprint("127.0.0.1:", p))
			a.until("the file shows "+want, func() bool { return lines(m.config(), "a") == want })
		}
	})
}

func TestNODE1_AnOlderEpochIsNotTaken(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		_, a, s, p := started(t, binary)
		u := s.slots("a", p, p, 0, 0)
		u.To.Generation.Version.Epoch = 9
		a.must(u)
		old := s.slots("a", 0, 0, 0, 0)
		if r := a.deliver(old); r.GetCode() != fleetv1.Code_CODE_OLD_EPOCH || r.GetEpoch() != 9 {
			t.Errorf("delivered: %v", r)
		}
	})
}
