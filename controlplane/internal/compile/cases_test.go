package compile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/casetest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/source/dir"
)

// Every case, offline: a directory read once for each step, by one compiler that goes from step to step.
func TestCases(t *testing.T) { casetest.Each(t, "../../../tests", runCase) }

func runCase(t *testing.T, c casetest.Case) {
	r := newRig(t, "objects")
	objects := t.TempDir()
	for i, step := range c.Steps {
		if err := os.WriteFile(filepath.Join(objects, "objects.yaml"), step.Text, 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := dir.Load("objects", objects)
		if err != nil {
			t.Fatal(err)
		}
		if step.Expect.SourceError != (loaded.State.Error != "") {
			t.Errorf("step %d: the source is faulty: %v", i+1, loaded.State.Error)
		}
		if step.Expect.SourceError {
			continue // what a source that runs keeps is shown live
		}
		var before snapshot.Digest
		var table map[string]int
		if k := r.kept["default"]; k != nil {
			before, table = k.revision.Digest(), r.slots()
		}
		r.apply(loaded)
		if step.Expect.Revision == "unchanged" && r.kept["default"].revision.Digest() != before {
			t.Errorf("step %d: the revision changed", i+1)
		}
		checkCase(t, r, i+1, step.Expect, table)
	}
}

// slots says in which slot each address of the default fleet stands.
func (r *rig) slots() map[string]int {
	at := map[string]int{}
	for table := range r.kept["default"].generation.All() {
		for i, s := range table.Slots {
			if s.State != snapshot.Free {
				at[s.Server().String()] = i
			}
		}
	}
	return at
}

func checkCase(t *testing.T, r *rig, step int, want casetest.Expect, before map[string]int) {
	t.Helper()
	for service, slots := range want.Backends {
		b, found := r.c.Backend("default", service)
		if !found {
			t.Errorf("step %d: there is no backend for %s", step, service)
			continue
		}
		got := map[snapshot.SlotState][]string{}
		for _, s := range r.kept["default"].generation.Table(b.Name).Slots {
			got[s.State] = append(got[s.State], s.Server().String())
		}
		for state, addresses := range map[snapshot.SlotState][]string{snapshot.Ready: slots.Ready, snapshot.Drain: slots.Drain} {
			slices.Sort(got[state])
			if slices.Sort(addresses); !slices.Equal(got[state], addresses) {
				t.Errorf("step %d: %s has %s slots %v, want %v", step, service, state, got[state], addresses)
			}
		}
	}
	now := r.slots()
	for _, address := range want.SameSlots {
		if now[address] != before[address] {
			t.Errorf("step %d: %s went from slot %d to %d", step, address, before[address]+1, now[address]+1)
		}
	}
	for newcomer, gone := range want.OtherSlot {
		if now[newcomer] == before[gone] {
			t.Errorf("step %d: %s took the slot of %s", step, newcomer, gone)
		}
	}
	for _, req := range want.Requests {
		x, err := r.c.Explain("default", req.URL, r.kept["default"].generation)
		if err != nil || x.Status != req.Status || req.Backend != "" && x.Service != req.Backend {
			t.Errorf("step %d: %s gets %+v, %v; want %s %d", step, req.URL, x, err, req.Backend, req.Status)
		}
	}
	problems := map[desired.State][]string{}
	for _, p := range r.c.Problems("default") {
		problems[p.State] = append(problems[p.State], p.Object)
	}
	expected := map[desired.State][]string{desired.Rejected: want.Rejected, desired.Warned: want.Warned}
	for _, state := range slices.Sorted(maps.Keys(expected)) {
		if !slices.Equal(problems[state], expected[state]) {
			t.Errorf("step %d: %s are %v, want %v\n%s", step, state, problems[state], expected[state], strings.ReplaceAll(fmt.Sprint(r.problems("default")), "\n", "\n\t"))
		}
	}
}
