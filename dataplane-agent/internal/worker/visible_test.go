package worker_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
)

// tableOf is backend "b" with a slot for each state; the i-th endpoint is 10.0.0.i:80.
func tableOf(states ...snapshot.SlotState) []worker.Table {
	t := worker.Table{Backend: "b", Slots: make([]snapshot.Slot, len(states))}
	for i, s := range states {
		if s != snapshot.Free {
			t.Slots[i] = snapshot.Slot{State: s, Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), Port: 80, Weight: 100, Endpoint: "a/x"}
		}
	}
	return []worker.Table{t}
}

func freeServers(n int) []fakeServer {
	return slices.Repeat([]fakeServer{{placeholder, placeholder, "maint"}}, n)
}

func (f *fake) apply(t *testing.T, tables []worker.Table) worker.Outcome {
	t.Helper()
	out, err := f.dial(t).Apply(t.Context(), tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) > 0 {
		t.Errorf("%v were enabled while HAProxy still used the placeholder; commands: %s", f.wrong, strings.Join(f.commands, "; "))
	}
	return out
}

// The story: under load and reloads a look at a 3.4 worker found a server ready at 192.0.2.1. Address and state had been written in the right order and at once, and
// HAProxy uses an address only some time after it has answered.
func TestWORKER5_AServerIsEnabledWhenItsAddressIsShown(t *testing.T) {
	for _, late := range []int{0, 1, 4} {
		f := &fake{Late: late, servers: freeServers(4)}
		out := f.apply(t, tableOf(snapshot.Ready, snapshot.Drain, snapshot.Free, snapshot.Ready))
		if !out.Complete() {
			t.Errorf("shown after %d looks: %+v", late, out)
		}
		for i, want := range []fakeServer{{"10.0.0.1:80", "10.0.0.1:80", "ready"}, {"10.0.0.2:80", "10.0.0.2:80", "drain"}, freeServers(1)[0], {"10.0.0.4:80", "10.0.0.4:80", "ready"}} {
			if f.servers[i] != want {
				t.Errorf("shown after %d looks: s%d is %v, want %v", late, i+1, f.servers[i], want)
			}
		}
	}
}

// What HAProxy acknowledged and does not show is not applied; nothing of its backend was enabled, and nothing else was taken away for it.
func TestWORKER1_AcknowledgedIsNotApplied(t *testing.T) {
	f := &fake{Late: -1, servers: append(freeServers(1), fakeServer{"10.0.0.9:80", "10.0.0.9:80", "ready"})}
	out := f.apply(t, tableOf(snapshot.Ready, snapshot.Free))
	if !slices.Equal(out.Different, []string{"b"}) {
		t.Errorf("different backends are %v, want b", out.Different)
	}
	if f.servers[1].state != "ready" {
		t.Errorf("the old server was taken away before the new one could serve: %s", strings.Join(f.commands, "; "))
	}
	// A slot that is written over shows it too.
	f = &fake{Late: -1, servers: []fakeServer{{"10.0.0.9:80", "10.0.0.9:80", "ready"}}}
	if out := f.apply(t, tableOf(snapshot.Ready)); !slices.Equal(out.Different, []string{"b"}) {
		t.Errorf("different backends are %v, want b", out.Different)
	}
	// And one that shows it late is applied.
	f = &fake{Late: 3, servers: []fakeServer{{"10.0.0.9:80", "10.0.0.9:80", "ready"}}}
	if out := f.apply(t, tableOf(snapshot.Ready)); !out.Complete() {
		t.Errorf("shown after 3 looks: %+v", out)
	}
}

// A slot whose address HAProxy refuses is never enabled.
func TestWORKER2_ARefusedSlotIsNotEnabled(t *testing.T) {
	f := &fake{Refuse: "10.0.0.2", servers: freeServers(3)}
	out := f.apply(t, tableOf(snapshot.Ready, snapshot.Ready, snapshot.Ready))
	if !out.Complete() || len(out.Refused) != 1 || out.Refused[worker.Slot{Backend: "b", Index: 1}] == "" {
		t.Errorf("%+v", out)
	}
	if got := []string{f.servers[0].state, f.servers[1].state, f.servers[2].state}; !slices.Equal(got, []string{"ready", "maint", "ready"}) {
		t.Errorf("states %v", got)
	}
}

// WORKER-3: first what is enabled, then what drains, then what goes; inside a slot the address first and ready last, maint first and the placeholder last.
func TestWORKER3_TheOrderOfABatch(t *testing.T) {
	f := &fake{servers: append(append(freeServers(1), fakeServer{"10.0.0.2:80", "10.0.0.2:80", "ready"}, fakeServer{"10.0.0.3:80", "10.0.0.3:80", "ready"}), freeServers(1)...)}
	out := f.apply(t, tableOf(snapshot.Ready, snapshot.Drain, snapshot.Free, snapshot.Ready))
	want := []string{"s1 addr 10.0.0.1 port 80", "s4 addr 10.0.0.4 port 80", "s1 state ready", "s4 state ready", "s2 state drain", "s3 state maint", "s3 addr 192.0.2.1 port 1"}
	if !out.Complete() || !slices.Equal(f.commands, want) {
		t.Errorf("%+v; commands:\n%s\nwant:\n%s", out, strings.Join(f.commands, "\n"), strings.Join(want, "\n"))
	}
}
