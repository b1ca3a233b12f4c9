package plan_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

var addresses = []netip.Addr{
	netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("fd00::1"),
}

var slotGen = rapid.Custom(func(t *rapid.T) snapshot.Slot {
	state := rapid.SampledFrom([]snapshot.SlotState{snapshot.Free, snapshot.Ready, snapshot.Drain}).Draw(t, "state")
	if state == snapshot.Free {
		return snapshot.Slot{Since: rapid.Uint64Range(0, 3).Draw(t, "since")}
	}
	return snapshot.Slot{
		State: state, Address: rapid.SampledFrom(addresses).Draw(t, "address"), Port: rapid.SampledFrom([]uint16{80, 8080}).Draw(t, "port"),
		Weight: rapid.SampledFrom([]uint16{100, 50}).Draw(t, "weight"), Endpoint: rapid.SampledFrom([]string{"a/x", "a/y"}).Draw(t, "endpoint"),
	}
})

// serverGen draws what a worker may be found with: what a plan leaves behind, a config's start, or what a hand did.
var serverGen = rapid.Custom(func(t *rapid.T) plan.Server {
	if rapid.Bool().Draw(t, "placeholder") {
		return plan.Server{State: snapshot.Free, Address: snapshot.Placeholder, Weight: rapid.SampledFrom([]uint16{0, 100}).Draw(t, "weight")}
	}
	return plan.Server{
		State:   rapid.SampledFrom([]snapshot.SlotState{snapshot.Free, snapshot.Ready, snapshot.Drain}).Draw(t, "state"),
		Address: netip.AddrPortFrom(rapid.SampledFrom(addresses).Draw(t, "address"), rapid.SampledFrom([]uint16{80, 8080}).Draw(t, "port")),
		Weight:  rapid.SampledFrom([]uint16{0, 50, 100}).Draw(t, "weight"),
	}
})

func TestPLAN1to3_AnyPlanGivesTheTargetAndIsSafeAtEveryMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorker()
		var all []plan.Command
		tables := []plan.Table{}
		before := map[string]int{}
		for _, backend := range []string{"b1", "b2"} {
			table := plan.Table{
				Backend: backend,
				Have:    rapid.SliceOfN(serverGen, 0, 6).Draw(t, "have"),
				Want:    rapid.SliceOfN(slotGen, 0, 8).Draw(t, "want"),
				Options: rapid.SampledFrom([][]string{nil, {"check", "inter", "2s"}}).Draw(t, "options"),
				CanAdd:  true,
			}
			w.backends[backend] = slices.Clone(table.Have)
			before[backend] = w.ready(backend)
			commands, missing := table.Commands()
			if missing != 0 {
				t.Fatalf("missing %d", missing)
			}
			all = append(all, commands...)
			tables = append(tables, table)
		}
		plan.Sort(all)
		placed := map[string]plan.Phase{}
		for _, c := range all {
			at := fmt.Sprint(c.Backend, c.Slot)
			if p, now := placed[at]; now && p == c.Phase && strings.HasSuffix(c.Line, "state ready") {
				t.Fatalf("PLAN-2: %q is in the phase of its address, which the worker need not use yet", c.Line)
			}
			if strings.Contains(c.Line, " addr ") {
				placed[at] = c.Phase
			}
			if err := w.run(c.Line); err != nil {
				t.Fatalf("%s: %v", c.Line, err)
			}
			for _, table := range tables {
				after := 0
				for _, s := range table.Want {
					if s.State == snapshot.Ready {
						after++
					}
				}
				if before[table.Backend] > 0 && after > 0 && w.ready(table.Backend) == 0 {
					t.Fatalf("PLAN-3: after %q backend %s has no ready server", c.Line, table.Backend)
				}
				for i, s := range w.backends[table.Backend] {
					was := i < len(table.Have) && table.Have[i].State == snapshot.Ready && table.Have[i].Address == snapshot.Placeholder
					if s.State == snapshot.Ready && s.Address == snapshot.Placeholder && !was {
						t.Fatalf("PLAN-2: after %q %s/s%d is ready at the placeholder", c.Line, table.Backend, i+1)
					}
				}
			}
		}
		for _, table := range tables {
			if d := plan.Different(w.backends[table.Backend], table.Want); len(d) != 0 {
				t.Fatalf("PLAN-1: slots %v of %s are %v, want %v", d, table.Backend, w.backends[table.Backend], table.Want)
			}
			again := table
			again.Have = w.backends[table.Backend]
			if commands, _ := again.Commands(); len(commands) != 0 {
				t.Fatalf("PLAN-1: a worker at the target is sent %v", commands)
			}
		}
	})
}

func TestPLAN4_AReadySlotIsWrittenOverInOneCommand(t *testing.T) {
	have := []plan.Server{{snapshot.Ready, netip.MustParseAddrPort("10.0.0.1:80"), 100}}
	want := []snapshot.Slot{{State: snapshot.Ready, Address: addresses[1], Port: 8080, Weight: 100, Endpoint: "a/y"}}
	commands, _ := plan.Table{Backend: "b", Have: have, Want: want}.Commands()
	if len(commands) != 1 || commands[0].Line != "set server b/s1 addr 10.0.0.2 port 8080" {
		t.Errorf("commands %v", commands)
	}
}

func TestPLAN5_CommandsFollowWhatDiffers(t *testing.T) {
	have := make([]plan.Server, 1000)
	want := make([]snapshot.Slot, 1000)
	for i := range want {
		want[i] = snapshot.Slot{State: snapshot.Ready, Address: addresses[i%3], Port: 80, Weight: 100}
		have[i] = plan.Wanted(want[i])
	}
	want[500] = snapshot.Slot{}
	commands, _ := plan.Table{Backend: "b", Have: have, Want: want}.Commands()
	if len(commands) != 2 {
		t.Fatalf("%v", commands)
	}
	if commands[0].Line != "set server b/s501 state maint" || commands[1].Line != "set server b/s501 addr 192.0.2.1 port 1" {
		t.Errorf("commands %v", commands)
	}
}

func TestATableThatCannotGrowCountsWhatIsMissingAndServesTheRest(t *testing.T) {
	have := []plan.Server{{snapshot.Free, snapshot.Placeholder, 100}}
	slot := snapshot.Slot{State: snapshot.Ready, Address: addresses[0], Port: 80, Weight: 100}
	commands, missing := plan.Table{Backend: "b", Have: have, Want: []snapshot.Slot{slot, slot, {}}}.Commands()
	if missing != 2 {
		t.Fatalf("missing %d", missing)
	}
	var lines []string
	for _, c := range commands {
		lines = append(lines, c.Line)
	}
	if got := strings.Join(lines, "; "); got != "set server b/s1 addr 10.0.0.1 port 80; set server b/s1 state ready" {
		t.Errorf("commands %s", got)
	}
}

func TestADrainingSlotNeverTakesTrafficOnItsWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := serverGen.Draw(t, "have")
		want := slotGen.Filter(func(s snapshot.Slot) bool { return s.State == snapshot.Drain }).Draw(t, "want")
		w := newWorker()
		w.backends["b"] = []plan.Server{have}
		commands, _ := plan.Table{Backend: "b", Have: []plan.Server{have}, Want: []snapshot.Slot{want}}.Commands()
		for _, c := range commands {
			if err := w.run(c.Line); err != nil {
				t.Fatal(err)
			}
			s := w.backends["b"][0]
			if s.State == snapshot.Ready && s.Address == plan.Wanted(want).Address && have.Address != s.Address {
				t.Fatalf("after %q the draining endpoint is ready", c.Line)
			}
		}
	})
}
