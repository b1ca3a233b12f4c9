package wire_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func protoSize(frames ...*fleetv1.Update) (n int) {
	for _, f := range frames {
		n += proto.Size(f)
	}
	return n
}

// WIRE-2: a frame out of order, twice, of another update or after the end is an error; nothing is kept of it, and the next whole update counts.
func TestWIRE2_Order(t *testing.T) {
	b := sample()
	u := wire.Everything(b.rev, b.gen)
	frames := func(id uint64) []*fleetv1.Update {
		u.ID = id
		f, err := wire.Frames(u, 500)
		if err != nil || len(f) < 5 {
			t.Fatalf("%d frames (%v)", len(f), err)
		}
		return f
	}
	seven, eight := frames(7), frames(8)
	for name, broken := range map[string][]*fleetv1.Update{
		"begins in the middle": {seven[1]},
		"left out":             {seven[0], seven[2]},
		"twice":                {seven[0], seven[1], seven[1]},
		"the first twice":      {seven[0], seven[0]},
		"another update":       {seven[0], eight[1]},
		"a new one too early":  {seven[0], seven[1], eight[0]},
		"marks in a later one": {seven[0], {Id: 7, Frame: 1, To: seven[0].To}},
		"scope in a later one": {seven[0], {Id: 7, Frame: 1, Scope: fleetv1.Scope_SCOPE_CHANGES}},
	} {
		t.Run(name, func(t *testing.T) {
			var a wire.Assembler
			for i, f := range broken {
				_, complete, err := a.Add(f)
				if i < len(broken)-1 && (err != nil || complete) {
					t.Fatalf("frame %d: complete %v (%v)", i, complete, err)
				}
				if i == len(broken)-1 && wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
					t.Fatalf("got %v, want CODE_INVALID", err)
				}
			}
			if a.Pending() {
				t.Fatal("something is kept")
			}
			got := travelBy(t, &a, u, 500)
			rev, gen, err := got.Apply(nothing.rev, nothing.gen)
			if err != nil {
				t.Fatal(err)
			}
			same(t, state{rev, gen}, b)
		})
	}
}

func TestWIRE2_IDsGrowByOne(t *testing.T) {
	var a wire.Assembler
	u := wire.Everything(sample().rev, nil)
	for _, id := range []uint64{4, 5} {
		u.ID = id
		travelBy(t, &a, u, 0)
	}
	for _, id := range []uint64{5, 7, 0} {
		u.ID = id
		frames, err := wire.Frames(u, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Add(frames[0]); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
			t.Errorf("update %d after 5: %v", id, err)
		}
	}
}

// Every limit and rule of fleet.proto, broken one at a time: CODE_INVALID, with the resource named.
func TestWIRE4_Limits(t *testing.T) {
	mark := &fleetv1.Mark{Version: &fleetv1.Version{Epoch: 1, Number: 1}}
	both := &fleetv1.Marks{Revision: mark, Generation: mark}
	table := func(t *fleetv1.Table) *fleetv1.Update { return &fleetv1.Update{Tables: []*fleetv1.Table{t}} }
	one := func(s *fleetv1.Slot) *fleetv1.Update {
		return table(&fleetv1.Table{Backend: "b", Length: 4, Slots: []*fleetv1.Slot{s}})
	}
	line := func(words ...string) *fleetv1.Update {
		return &fleetv1.Update{Backends: []*fleetv1.Backend{{Name: "b", Lines: []*fleetv1.Line{{Words: words}}}}}
	}
	entry := func(key, value string) *fleetv1.Update {
		return &fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", Entries: []*fleetv1.MapEntry{{Key: key, Value: value}}}}}
	}
	ready := fleetv1.SlotState_SLOT_STATE_READY
	v4 := []byte{10, 0, 0, 1}
	long := func(n int) string { return strings.Repeat("x", n) }
	digest := snapshot.PEMDigest([]byte("pem"))
	for name, c := range map[string]struct {
		frame  *fleetv1.Update
		object string
	}{
		"no clock":                   {&fleetv1.Update{To: &fleetv1.Marks{}}, "update 1"},
		"no mark for the revision":   {&fleetv1.Update{To: &fleetv1.Marks{Generation: mark}, Maps: []*fleetv1.Map{{Name: "m", Declared: true}}}, "update 1"},
		"no mark for the generation": {&fleetv1.Update{To: &fleetv1.Marks{Revision: mark}, RemovedTables: []string{"b"}}, "update 1"},
		"unknown scope":              {&fleetv1.Update{Scope: 9}, "update 1"},
		"digest of a mark":           {&fleetv1.Update{To: &fleetv1.Marks{Revision: &fleetv1.Mark{Version: mark.Version, Digest: v4}}}, "mark 1.1"},
		"buckets without the scope":  {&fleetv1.Update{RevisionBuckets: []uint32{1}}, "update 1"},
		"bucket 256":                 {&fleetv1.Update{Scope: fleetv1.Scope_SCOPE_BUCKETS, RevisionBuckets: []uint32{256}}, "update 1"},
		"bucket twice":               {&fleetv1.Update{Scope: fleetv1.Scope_SCOPE_BUCKETS, GenerationBuckets: []uint32{3, 3}}, "update 1"},
		"removal in everything":      {&fleetv1.Update{Scope: fleetv1.Scope_SCOPE_EVERYTHING, RemovedBackends: []string{"b"}}, "backend b"},
		"table removed in buckets":   {&fleetv1.Update{Scope: fleetv1.Scope_SCOPE_BUCKETS, RemovedTables: []string{"b"}}, "table of backend b"},
		"time":                       {&fleetv1.Update{Seen: &timestamppb.Timestamp{Nanos: -1}}, "update 1"},
		"name of a backend":          {&fleetv1.Update{Backends: []*fleetv1.Backend{{Name: long(256)}}}, "backend " + long(256)},
		"name of a map":              {&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "../m"}}}, "map ../m"},
		"word":                       {line("acl", long(2049)), "backend b"},
		"line break":                 {line("acl", "a\nb"), "backend b"},
		"words":                      {line(make([]string, 65)...), "backend b"},
		"section":                    {&fleetv1.Update{Sections: []*fleetv1.Section{{Type: "x"}}}, "section x"},
		"section of all":             {&fleetv1.Update{Sections: []*fleetv1.Section{{}}}, "section "},
		"nil resources":              {&fleetv1.Update{Sections: []*fleetv1.Section{nil}, Backends: []*fleetv1.Backend{nil}}, "section "},
		"nil table":                  {table(nil), "table of backend "},
		"nil slot":                   {one(nil), "slot 0 of backend b"},
		"key with a space":           {entry("a b", "v"), "map entry m a b"},
		"long key":                   {entry(long(4097), "v"), "map entry m " + long(4097)},
		"long value":                 {entry("k", long(4097)), "map entry m k"},
		"long key to remove":         {&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", RemovedKeys: []string{long(5000)}}}}, "map entry to remove"},
		"long section to remove":     {&fleetv1.Update{RemovedSections: []string{long(5000)}}, "section to remove"},
		"PEM":                        {&fleetv1.Update{Certificates: []*fleetv1.Certificate{{Name: "c", Digest: digest[:], Pem: make([]byte, 1<<20+1)}}}, "certificate c"},
		"PEM of another digest":      {&fleetv1.Update{Certificates: []*fleetv1.Certificate{{Name: "c", Digest: digest[:], Pem: []byte("men")}}}, "certificate c"},
		"certificate's digest":       {&fleetv1.Update{Certificates: []*fleetv1.Certificate{{Name: "c"}}}, "certificate c"},
		"a section twice":            {&fleetv1.Update{Sections: []*fleetv1.Section{{Type: "global"}, {Type: "global"}}}, "section global"},
		"a key twice":                {&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", Entries: []*fleetv1.MapEntry{{Key: "k", Value: "v"}}, RemovedKeys: []string{"k"}}}}, "map entry m k"},
		"a map twice":                {&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", Declared: true}, {Name: "m", Declared: true}}}, "map m"},
		"comes and goes":             {&fleetv1.Update{Maps: []*fleetv1.Map{{Name: "m", Declared: true}}, RemovedMaps: []string{"m"}}, "map m"},
		"slots of a table":           {table(&fleetv1.Table{Backend: "b", Length: 65537}), "table of backend b"},
		"a table twice":              {&fleetv1.Update{Tables: []*fleetv1.Table{{Backend: "b", Length: 4}, {Backend: "b", Length: 4}}}, "table of backend b"},
		"a table comes and goes":     {&fleetv1.Update{Tables: []*fleetv1.Table{{Backend: "b", Length: 4}}, RemovedTables: []string{"b"}}, "table of backend b"},
		"parts of two lengths":       {&fleetv1.Update{Tables: []*fleetv1.Table{{Backend: "b", Length: 4}, {Backend: "b", Length: 5, Slots: []*fleetv1.Slot{{Slot: 1, State: 1}}}}}, "table of backend b"},
		"name of a table":            {table(&fleetv1.Table{Backend: "a/b", Length: 4}), "table of backend a/b"},
		"slot 0":                     {one(&fleetv1.Slot{State: 1}), "slot 0 of backend b"},
		"slot 5 of 4":                {one(&fleetv1.Slot{Slot: 5, State: 1}), "slot 5 of backend b"},
		"no state":                   {one(&fleetv1.Slot{Slot: 1}), "slot 1 of backend b"},
		"unknown state":              {one(&fleetv1.Slot{Slot: 1, State: 17}), "slot 1 of backend b"},
		"port 99999":                 {one(&fleetv1.Slot{Slot: 1, State: ready, Address: v4, Port: 99999, Weight: 1}), "slot 1 of backend b"},
		"port 65536":                 {one(&fleetv1.Slot{Slot: 1, State: ready, Address: v4, Port: 65536, Weight: 1}), "slot 1 of backend b"},
		"weight":                     {one(&fleetv1.Slot{Slot: 1, State: ready, Address: v4, Port: 80, Weight: 65537}), "slot 1 of backend b"},
		"address":                    {one(&fleetv1.Slot{Slot: 1, State: ready, Address: v4[:3], Port: 80, Weight: 1}), "slot 1 of backend b"},
		"free at an address":         {one(&fleetv1.Slot{Slot: 1, State: 1, Address: v4, Port: 80, Weight: 1}), "slot 1 of backend b"},
		"ready at no address":        {one(&fleetv1.Slot{Slot: 1, State: ready, Port: 80, Weight: 1}), "slot 1 of backend b"},
		"slot twice": {table(&fleetv1.Table{Backend: "b", Length: 4, Slots: []*fleetv1.Slot{
			{Slot: 1, State: ready, Address: v4, Port: 80, Weight: 1}, {Slot: 1, State: ready, Address: v4, Port: 81, Weight: 1},
		}}), "slot 1 of backend b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.frame
			f.Id, f.Last = 1, true
			if f.To == nil {
				f.To = both
			}
			if f.Scope == 0 {
				f.Scope = fleetv1.Scope_SCOPE_CHANGES
			}
			var a wire.Assembler
			_, complete, err := a.Add(f)
			var e *wire.Error
			if complete || !errors.As(err, &e) || e.Code != fleetv1.Code_CODE_INVALID || e.Object != c.object {
				t.Fatalf("got %v, want CODE_INVALID for %q", err, c.object)
			}
		})
	}
}

// Cheap messages that would cost much memory are refused before they do.
func TestWIRE4_Bounds(t *testing.T) {
	mark := &fleetv1.Mark{Version: &fleetv1.Version{Epoch: 1, Number: 1}}
	f := &fleetv1.Update{Id: 1, To: &fleetv1.Marks{Generation: mark}, Scope: fleetv1.Scope_SCOPE_EVERYTHING, Last: true}
	for i := range wire.MaxTotalSlots/snapshot.MaxSlots + 1 {
		f.Tables = append(f.Tables, &fleetv1.Table{Backend: "b" + strings.Repeat("x", i), Length: snapshot.MaxSlots})
	}
	var a wire.Assembler
	if _, _, err := a.Add(f); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID || !strings.Contains(err.Error(), "slots") {
		t.Errorf("65 tables of 65,536 slots: %v", err)
	}
	f.Tables = nil
	for range 5 {
		f.Certificates = append(f.Certificates, &fleetv1.Certificate{Name: "c", Pem: make([]byte, 1<<20)})
	}
	if _, _, err := a.Add(f); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID || !strings.Contains(err.Error(), "frame 0") {
		t.Errorf("a frame of 5 MiB: %v", err)
	}
	f = &fleetv1.Update{Id: 1, To: &fleetv1.Marks{Generation: mark}, Scope: fleetv1.Scope_SCOPE_EVERYTHING}
	for i := range wire.MaxFrames + 1 {
		_, _, err := a.Add(f)
		if want := i == wire.MaxFrames; (err != nil) != want {
			t.Fatalf("frame %d: %v", i, err)
		}
		f = &fleetv1.Update{Id: 1, Frame: uint32(i) + 1}
	}
}

// A sender refuses what a receiver would.
func TestFramesRefuse(t *testing.T) {
	b := sample()
	mark := wire.Mark{Version: snapshot.Version{Epoch: 1, Number: 1}}
	slots := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, To: wire.Marks{Generation: mark}}
	slots.Generation.Tables = map[string]snapshot.TableDelta{}
	for i := range wire.MaxTotalSlots/snapshot.MaxSlots + 1 {
		slots.Generation.Tables["b"+strings.Repeat("x", i)] = snapshot.TableDelta{Length: snapshot.MaxSlots}
	}
	pem := make([]byte, snapshot.MaxPEM)
	bytes := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, To: wire.Marks{Revision: mark}}
	bytes.Revision.Changes = map[snapshot.Key]snapshot.Resource{}
	for i := range wire.MaxUpdate / snapshot.MaxPEM {
		c := &snapshot.Certificate{Name: "c" + strings.Repeat("x", i), PEM: pem, Content: snapshot.PEMDigest(pem)}
		bytes.Revision.Changes[c.Key()] = c
	}
	big := changes(nothing, b)
	big.Generation.Tables = map[string]snapshot.TableDelta{"b": {Length: snapshot.MaxSlots + 1}}
	bad := changes(nothing, b)
	bad.Revision.Changes[snapshot.Key{Kind: snapshot.KindBackend, Name: "x"}] = &snapshot.Backend{Name: "x", ServerOptions: []string{"a\nb"}}
	swapped := changes(nothing, b)
	swapped.Revision.Changes[snapshot.Key{Kind: snapshot.KindBackend, Name: "x"}] = &snapshot.Backend{Name: "y"}
	slot := changes(nothing, b)
	slot.Generation.Tables = map[string]snapshot.TableDelta{"b": {Length: 4, Slots: map[int]snapshot.Slot{3: {State: snapshot.Ready}}}}
	for want, u := range map[string]wire.Update{
		"table of backend b": big, "backend x": bad, "BUG: backend y": swapped, "slot 4 of backend b": slot, "update 0": {},
		"more than 4194304 slots": slots, "bytes, at most 268435456": bytes,
	} {
		if _, err := wire.Frames(u, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// A node keeps keys in files: it may drop the PEM once it has it, and the journal's records do without.
func TestCertificateWithoutPEM(t *testing.T) {
	b := sample()
	u := travel(t, changes(nothing, b), 0)
	k := snapshot.Key{Kind: snapshot.KindCertificate, Name: "shop/tls"}
	c := *u.Revision.Changes[k].(*snapshot.Certificate)
	if string(c.PEM) != "chain and key" {
		t.Fatalf("the PEM is %q", c.PEM)
	}
	c.PEM = nil
	u.Revision.Changes[k] = &c
	rev, _, err := travel(t, u, 0).Apply(nothing.rev, nothing.gen)
	if err != nil || rev.Digest() != b.rev.Digest() {
		t.Fatalf("without the PEM: %v", err)
	}
}
