package view

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test -update to write it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// example is a fleet with one of everything that a document can show.
func example() State {
	pod := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, last}) }
	pem := []byte("-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n")
	resources := []snapshot.Resource{
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{{"mode", "http"}}},
		&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{{"default_backend", explain.Unavailable}}},
		&snapshot.Map{Name: explain.Hosts}, &snapshot.Map{Name: explain.Exact},
		&snapshot.MapEntry{Map: explain.Hosts, Name: "shop.example.com", Value: "shop.example.com"},
		&snapshot.Backend{Name: explain.Unavailable, Defaults: "berth"},
		&snapshot.Backend{Name: "shop_web_80", Defaults: "berth"},
		&snapshot.Backend{Name: "shop_api_http", Defaults: "berth"},
		&snapshot.Certificate{Name: "shop/tls", ServerNames: []string{"shop.example.com"}, PEM: pem, Content: snapshot.PEMDigest(pem)},
	}
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range resources {
		d.Changes[r.Key()] = r
	}
	tables := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{
		"shop_web_80": {Reset: true, Length: 4, Slots: map[int]snapshot.Slot{
			0: {State: snapshot.Ready, Address: pod(1), Port: 8080, Weight: 100, Endpoint: "shop/pod-a"},
			1: {State: snapshot.Drain, Address: netip.MustParseAddr("fd00::1"), Port: 8080, Weight: 7, Endpoint: "shop/pod-b", Since: 9},
			2: {Since: 12},
		}},
		"shop_api_http": {Reset: true, Length: 1},
		"shop_gone_80":  {Reset: true, Length: 4},
	}}
	return State{
		Fleet:      "default",
		Home:       "objects",
		Revision:   snapshot.EmptyRevision().Apply(d, snapshot.Version{Number: 3}),
		Generation: snapshot.EmptyGeneration().Apply(tables, snapshot.Version{Number: 12}),
		Backends:   []compile.BackendInfo{{Name: "shop_api_http", Service: "shop/api:http"}, {Name: "shop_web_80", Service: "shop/web:80"}},
		Routes: []compile.RouteInfo{
			{Host: "shop.example.com", Path: "/", Match: desired.Prefix, Backend: "shop_web_80", Service: "shop/web:80"},
			{Host: "shop.example.com", Path: "/api", Match: desired.Exact, Backend: "shop_api_http", Service: "shop/api:http"},
			{Host: "", Path: "/", Match: desired.Default, Backend: "shop_web_80", Service: "shop/web:80"},
			{Host: "pay.example.com", Path: "/", Match: desired.Prefix, Backend: explain.Unavailable},
			{Host: "pay.example.com", Path: "/", Match: desired.Default, Backend: explain.Unavailable}, // never reached, and not shown
			{Host: "api.example.com", Path: "/", Match: desired.Default, Backend: "shop_api_http", Service: "shop/api:http"},
			{Host: "", Path: "/", Match: desired.Prefix, Backend: "shop_web_80", Service: "shop/web:80"},
		},
		Problems: []compile.Problem{
			{Object: "Ingress shop/pay", Cluster: "objects", State: desired.Rejected, Reason: `Secret shop/pay holds no certificate; "tls.crt" <is> empty & closed`},
			{Object: "Ingress shop/slow", Cluster: "objects", State: desired.Warned, Reason: "the default is used"},
			{Object: "Ingress shop/slow", Cluster: "east", State: desired.Warned, Reason: "the default is used"},
		},
		Sources: []Source{{Name: "objects", Error: "web.yaml: line 3: it does not parse"}, {Name: "east"}},
	}
}

// VIEW-1: field by field what INTERFACES shows, with every part that can be there.
func TestDocumentIsThatOfInterfaces(t *testing.T) {
	golden(t, "document.json", Of(example()).JSON())
}

// VIEW-1: a fleet of nothing has empty lists, never null.
func TestDocumentOfNothing(t *testing.T) {
	golden(t, "nothing.json", Of(State{Fleet: "edge", Revision: snapshot.EmptyRevision(), Generation: snapshot.EmptyGeneration()}).JSON())
}

// VIEW-2: what comes in another order gives the same bytes.
func TestDocumentKnowsNoOrder(t *testing.T) {
	want := Of(example()).JSON()
	s := example()
	slices.Reverse(s.Backends)
	slices.Reverse(s.Routes)
	slices.Reverse(s.Sources)
	if got := Of(s).JSON(); !bytes.Equal(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if s.Sources[0].Name != "east" {
		t.Error("the caller's own list was sorted")
	}
}

// VIEW-3: an earlier output is good for --previous, whatever its tables hold.
func TestParseReadsBackTheTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := example()
		tables := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
		var newest uint64
		for _, name := range []string{"shop_web_80", "shop_api_http"} {
			length := rapid.IntRange(0, 9).Draw(t, "length")
			td := snapshot.TableDelta{Reset: true, Length: length, Slots: map[int]snapshot.Slot{}}
			for i := range length {
				slot := drawSlot(t)
				newest = max(newest, slot.Since)
				td.Slots[i] = slot
			}
			tables.Tables[name] = td
		}
		s.Generation = snapshot.EmptyGeneration().Apply(tables, snapshot.Version{Number: 99})
		d, err := Parse(Of(s).JSON())
		if err != nil {
			t.Fatal(err)
		}
		back, err := d.Generation()
		if err != nil {
			t.Fatal(err)
		}
		if diff := snapshot.DiffGenerations(s.Generation, back); !diff.Empty() || back.Digest() != s.Generation.Digest() {
			t.Fatalf("read back otherwise: %+v", diff)
		}
		if back.Version != (snapshot.Version{Number: newest}) {
			t.Fatalf("version %s, want that of the newest slot, %d", back.Version, newest)
		}
	})
}

func drawSlot(t *rapid.T) snapshot.Slot {
	state := rapid.SampledFrom([]snapshot.SlotState{snapshot.Free, snapshot.Ready, snapshot.Drain}).Draw(t, "state")
	since := rapid.Uint64Range(0, 1<<63).Draw(t, "since")
	if state == snapshot.Free {
		return snapshot.Slot{Since: since}
	}
	s := snapshot.Slot{
		State: state, Port: rapid.Uint16Min(1).Draw(t, "port"), Weight: rapid.Uint16Range(1, snapshot.MaxWeight).Draw(t, "weight"),
		Endpoint: rapid.SampledFrom([]string{"shop/pod", "10.0.0.1:80", ""}).Draw(t, "endpoint"),
		Address: rapid.SampledFrom([]netip.Addr{
			netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("::ffff:10.0.0.1"),
		}).Draw(t, "address"),
	}
	if state == snapshot.Drain {
		s.Since = since
	}
	return s
}

// VIEW-3: what no table can hold is refused, with the backend and the slot.
func TestParseRefuses(t *testing.T) {
	backend := func(slots string) string { return `{"backends": [{"name": "b", "slots": [` + slots + `]}]}` }
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":                {"global\n", "no output of berthctl render -o json"},
		"another JSON":           {`[]`, "no output of berthctl render -o json"},
		"a name with a space":    {`{"backends": [{"name": "a b"}]}`, "a backend"},
		"twice":                  {`{"backends": [{"name": "b"}, {"name": "b"}]}`, "backend b: it stands there twice"},
		"slots out of order":     {backend(`{"slot": 2, "state": "free"}`), "backend b: slot 2 stands in the place of slot 1"},
		"unknown state":          {backend(`{"slot": 1, "state": "READY"}`), `backend b: slot 1: state "READY"`},
		"an address that isn't":  {backend(`{"slot": 1, "state": "ready", "address": "pod", "port": 1, "weight": 1}`), `address "pod"`},
		"ready without a place":  {backend(`{"slot": 1, "state": "ready"}`), "slot 1"},
		"free with an address":   {backend(`{"slot": 1, "state": "free", "address": "10.0.0.1"}`), "a free slot has the address"},
		"free with an endpoint":  {backend(`{"slot": 1, "state": "free", "endpoint": "shop/a"}`), "it is free and has the endpoint"},
		"a port that is no port": {backend(`{"slot": 1, "state": "ready", "address": "10.0.0.1", "port": 65536, "weight": 1}`), "no output"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(c.text))
			if err == nil {
				_, err = d.Generation()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// VIEW-3: whatever somebody gives to --previous, it is refused or it is tables that can be shown again.
func FuzzParse(f *testing.F) {
	f.Add(Of(example()).JSON())
	f.Add([]byte(`{"backends": [{"name": "b", "slots": [{"slot": 1, "state": "free", "since": 3}]}]}`))
	f.Add([]byte(`{"backends": [{"name": "b", "slots": [{"slot": 1, "state": "drain", "address": "::1", "port": 1, "weight": 256}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		g, err := d.Generation()
		if err != nil {
			return
		}
		for table := range g.All() {
			back, err := (Backend{Name: table.Backend, Slots: slots(table)}).table()
			if err != nil {
				t.Fatalf("%s was taken, and shown it is refused: %v", table.Backend, err)
			}
			if !slices.Equal(back.Slots, table.Slots) {
				t.Fatalf("%s: %v became %v", table.Backend, table.Slots, back.Slots)
			}
			for i, s := range table.Slots {
				if err := snapshot.CheckSlot(s); err != nil {
					t.Fatalf("%s, slot %d: %v", table.Backend, i+1, err)
				}
			}
		}
	})
}

// VIEW-4: the configuration that a node would have, and nothing behind it that HAProxy would read.
func TestHAProxyIsOneConfiguration(t *testing.T) {
	s := example()
	text, err := HAProxy(s.Revision, s.Generation)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "haproxy.cfg", text)
	files, err := render.Files(s.Revision, s.Generation, render.NodeMachine(settings, settings.StateDir, s.Revision))
	if err != nil {
		t.Fatal(err)
	}
	rest, found := strings.CutPrefix(string(text), string(files[render.ConfigFile]))
	if !found {
		t.Fatal("it does not begin with haproxy.cfg as it is rendered")
	}
	for line := range strings.Lines(rest) {
		if line != "\n" && line[0] != '#' {
			t.Errorf("HAProxy would read %q", line)
		}
	}
	for name := range files {
		if name != render.ConfigFile && !strings.Contains(rest, "# file: "+name+"\n") {
			t.Errorf("%s is left out", name)
		}
	}
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		t.Error("a key was printed")
	}
}

// A resource that cannot be written is named.
func TestHAProxyNamesWhatItCannotWrite(t *testing.T) {
	bad := &snapshot.Backend{Name: "b", Lines: []snapshot.Line{{"acl", "a\nb"}}}
	rev := snapshot.EmptyRevision().Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{bad.Key(): bad}}, snapshot.Version{})
	if _, err := HAProxy(rev, snapshot.EmptyGeneration()); err == nil || !strings.Contains(err.Error(), "backend b: line 1") {
		t.Errorf("got %v", err)
	}
}

func TestExplanation(t *testing.T) {
	x := compile.Explanation{
		URL: "https://x/", Outcome: explain.ToBackend, Host: "x", Path: "/", Match: "Prefix", Backend: "b", Service: "s/b:80",
		Slots: []compile.ExplainedSlot{{Number: 3, Slot: snapshot.Slot{
			State: snapshot.Drain, Address: netip.MustParseAddr("fd00::1"), Port: 80, Weight: 5, Endpoint: "s/p", Since: 4,
		}}},
		Steps: []string{"one"}, Objects: []string{"Ingress s/i"}, Certificate: "default",
	}
	want := &adminv1.ExplainResponse{
		Url: "https://x/", Outcome: adminv1.Outcome_OUTCOME_BACKEND, Host: "x", Path: "/", Match: "Prefix", Backend: "b", Service: "s/b:80",
		Slots: []*adminv1.Slot{{
			Slot: 3, State: adminv1.SlotState_SLOT_STATE_DRAIN, Address: "fd00::1", Port: 80, Weight: 5, Endpoint: "s/p", Since: 4,
		}},
		Steps: []string{"one"}, Objects: []string{"Ingress s/i"}, Certificate: "default",
	}
	if diff := cmp.Diff(want, Explanation(x), protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if free := ShowSlot(1, snapshot.Slot{Since: 2}); free.GetAddress() != "" || free.GetSince() != 2 {
		t.Errorf("a free slot is shown as %v", free)
	}
}
