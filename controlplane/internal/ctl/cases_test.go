package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/berth-proxy/berth/api/casetest"
)

// output is what a tool reads of `render -o json`, written down from INTERFACES and not from package view.
type output struct {
	Fleet    string
	Revision string
	Backends []struct {
		Name, Service string
		Slots         []struct {
			Slot                     int
			State, Address, Endpoint string
			Port, Weight             int
		}
	}
	Routes           []struct{ Host, Path, Match, Backend string }
	Rejected, Warned []struct{ Object, Reason string }
	Sources          []struct{ Name, Error string }
}

// Every case as a user runs it: render each step, with --previous from the step before, and explain for the requests.
func TestCases(t *testing.T) { casetest.Each(t, "../../../tests", runCase) }

func runCase(t *testing.T, c casetest.Case) {
	objects := filepath.Join(t.TempDir(), "objects") // its name is the source's
	if err := os.Mkdir(objects, 0o700); err != nil {
		t.Fatal(err)
	}
	var before output
	previous := ""
	for i, step := range c.Steps {
		if err := os.WriteFile(filepath.Join(objects, "objects.yaml"), step.Text, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"render", "-f", objects}
		if previous != "" {
			args = append(args, "--previous", previous)
		}
		text, complaint, code := berthctl(t, args...)
		var now output
		if err := json.Unmarshal(text, &now); err != nil {
			t.Fatalf("step %d: %v\n%s%s", i+1, err, text, complaint)
		}
		faulty := len(now.Sources) == 1 && now.Sources[0].Name == "objects" && now.Sources[0].Error != ""
		if faulty != step.Expect.SourceError || (code == failed) != faulty || code != done && code != failed {
			t.Errorf("step %d: exit code %d and sources %+v; is the source faulty? %v", i+1, code, now.Sources, step.Expect.SourceError)
		}
		if !faulty { // what a source that runs keeps is shown live
			checkStep(t, i+1, step.Expect, before, now)
			checkRequests(t, i+1, step.Expect, objects)
		}
		before = now
		previous = filepath.Join(t.TempDir(), "previous.json")
		if err := os.WriteFile(previous, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// berthctl runs berthctl without an environment.
func berthctl(t *testing.T, args ...string) (stdout []byte, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), Invocation{Args: args, Out: &out, Err: &errs, LookupEnv: func(string) (string, bool) { return "", false }})
	return out.Bytes(), errs.String(), code
}

// places says in which slot each address stands.
func (o output) places() map[string]int {
	at := map[string]int{}
	for _, b := range o.Backends {
		for _, s := range b.Slots {
			if s.State != "free" {
				at[net.JoinHostPort(s.Address, strconv.Itoa(s.Port))] = s.Slot
			}
		}
	}
	return at
}

func checkStep(t *testing.T, step int, want casetest.Expect, before, now output) {
	t.Helper()
	if want.Revision == "unchanged" && (now.Revision != before.Revision || now.Revision == "") {
		t.Errorf("step %d: the revision went from %s to %s", step, before.Revision, now.Revision)
	}
	for service, slots := range want.Backends {
		got := map[string][]string{}
		for _, b := range now.Backends {
			if b.Service != service {
				continue
			}
			for _, s := range b.Slots {
				got[s.State] = append(got[s.State], net.JoinHostPort(s.Address, strconv.Itoa(s.Port)))
			}
		}
		if len(got) == 0 {
			t.Errorf("step %d: there is no backend for %s", step, service)
		}
		for state, addresses := range map[string][]string{"ready": slots.Ready, "drain": slots.Drain} {
			slices.Sort(got[state])
			if slices.Sort(addresses); !slices.Equal(got[state], addresses) {
				t.Errorf("step %d: %s has %s slots %v, want %v", step, service, state, got[state], addresses)
			}
		}
	}
	old, places := before.places(), now.places()
	for _, address := range want.SameSlots {
		if places[address] == 0 || places[address] != old[address] {
			t.Errorf("step %d: %s went from slot %d to %d", step, address, old[address], places[address])
		}
	}
	for newcomer, gone := range want.OtherSlot {
		if places[newcomer] == 0 || places[newcomer] == old[gone] {
			t.Errorf("step %d: %s took slot %d of %s", step, newcomer, places[newcomer], gone)
		}
	}
	for what, c := range map[string]struct {
		got  []struct{ Object, Reason string }
		want []string
	}{"rejected": {now.Rejected, want.Rejected}, "warned": {now.Warned, want.Warned}} {
		var names []string
		for _, o := range c.got {
			if names = append(names, o.Object); o.Reason == "" {
				t.Errorf("step %d: %s is %s without a reason", step, o.Object, what)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("step %d: %s are %v, want %v", step, what, c.got, c.want)
		}
	}
}

func checkRequests(t *testing.T, step int, want casetest.Expect, objects string) {
	t.Helper()
	for _, req := range want.Requests {
		text, complaint, code := berthctl(t, "explain", req.URL, "-f", objects, "-o", "json")
		var got struct {
			Outcome, Service string
			Status           int
			Steps, Objects   []string
		}
		if err := json.Unmarshal(text, &got); err != nil || code != done {
			t.Fatalf("step %d: explain %s: %d, %v\n%s%s", step, req.URL, code, err, text, complaint)
		}
		if got.Status != req.Status || req.Backend != "" && (got.Outcome != "OUTCOME_BACKEND" || got.Service != req.Backend) || len(got.Steps) == 0 {
			t.Errorf("step %d: %s gets %+v; want %s %d", step, req.URL, got, req.Backend, req.Status)
		}
	}
}

// VIEW-1 from the outside: the fields that INTERFACES names are there, in its order, with the types that it shows.
func TestRenderHasTheFieldsOfInterfaces(t *testing.T) {
	objects := t.TempDir()
	content, err := os.ReadFile(filepath.Join("../../../tests/testdata/cases", "01-same-address-in-two-slices", "1.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(objects, "1.yaml"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, _, code := berthctl(t, "render", "-f", objects)
	if code != done {
		t.Fatalf("exit code %d: %s", code, text)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"fleet", "revision", "backends", "routes", "rejected", "warned", "sources"}
	if !slices.Equal(order, want) {
		t.Errorf("the fields are %v, want %v", order, want)
	}
	var doc struct {
		Backends []struct{ Slots []map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Backends) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, slot := range doc.Backends[0].Slots {
		fields := slices.Sorted(maps.Keys(slot))
		want := []string{"address", "endpoint", "port", "slot", "state", "weight"}
		if slot["state"] == "free" {
			want = []string{"slot", "state"}
		}
		if !slices.Equal(fields, want) {
			t.Errorf("a slot that is %v has the fields %v, want %v", slot["state"], fields, want)
		}
	}
}
