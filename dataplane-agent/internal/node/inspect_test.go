package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// What is told is what the worker answers, servers that are none of ours and what checks say included.
func TestInspectTellsWhatTheWorkerAnswers(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a := m.start()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := a.Inspect(ctx, nil); err == nil {
			t.Error("a worker that does not run has answered")
		}
		s := newState()
		u := s.change(backend("a"), &snapshot.Backend{Name: "checked", Defaults: "berth", ServerOptions: []string{"check", "inter", "50ms", "fall", "1"}})
		u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
		a.must(u)
		a.must(s.slots("a", pod(t, "a"), 0))
		a.must(s.slots("checked", 1, 0)) // nobody listens there
		a.applied(s)
		m.runtime("add server a/byhand 127.0.0.1:9")
		tell := func(backends ...string) string {
			found, err := a.Inspect(ctx, backends)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, b := range found {
				text += b.GetBackend() + ":"
				for _, x := range b.GetServers() {
					text += fmt.Sprintf(" %s up=%v maintenance=%v", x.GetName(), x.GetUp(), x.GetMaintenance())
				}
				text += "\n"
			}
			return text
		}
		a.until("the checks have found out", func() bool {
			return tell("checked", "none") == "checked: s1 up=false maintenance=false s2 up=false maintenance=true\n"
		})
		if got, want := tell("a"), "a: s1 up=true maintenance=false s2 up=false maintenance=true byhand up=false maintenance=true\n"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		if all, err := a.Inspect(ctx, nil); err != nil || len(all) != 2 {
			t.Errorf("all backends with servers: %v, %v", all, err)
		}
	})
}
