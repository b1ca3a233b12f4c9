package wire_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

var (
	genName = rapid.SampledFrom([]string{"a", "b", "c", "shop_web_80", "shop_web_https"})
	genWord = rapid.SampledFrom([]string{"a", "b c", "it's", "é"})
	genLine = rapid.Custom(func(t *rapid.T) snapshot.Line { return rapid.SliceOfN(genWord, 1, 3).Draw(t, "line") })
)

func genLines(t *rapid.T) []snapshot.Line {
	lines := rapid.SliceOfN(genLine, 0, 2).Draw(t, "lines")
	if len(lines) == 0 {
		return nil
	}
	return lines
}

var genResource = rapid.Custom(func(t *rapid.T) snapshot.Resource {
	name := genName.Draw(t, "name")
	switch snapshot.Kind(rapid.IntRange(int(snapshot.KindSection), int(snapshot.KindCertificate)).Draw(t, "kind")) {
	case snapshot.KindSection:
		return &snapshot.Section{Type: rapid.SampledFrom([]string{"frontend", "peers"}).Draw(t, "type"), Name: name, Lines: genLines(t)}
	case snapshot.KindBackend:
		return &snapshot.Backend{Name: name, Defaults: genName.Draw(t, "defaults"), Lines: genLines(t), ServerOptions: genLine.Draw(t, "options")}
	case snapshot.KindMap:
		return &snapshot.Map{Name: name}
	case snapshot.KindMapEntry:
		return &snapshot.MapEntry{Map: name, Name: genName.Draw(t, "key"), Value: genName.Draw(t, "value")}
	default:
		pem := []byte(genWord.Draw(t, "pem"))
		return &snapshot.Certificate{Name: name, ServerNames: []string{genName.Draw(t, "host")}, Content: snapshot.PEMDigest(pem), PEM: pem}
	}
})

func genRevisionDelta(t *rapid.T) snapshot.RevisionDelta {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range rapid.SliceOfN(genResource, 0, 12).Draw(t, "resources") {
		d.Changes[r.Key()] = r
		if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			d.Changes[r.Key()] = nil
		}
	}
	return d
}

var genSlot = rapid.Custom(func(t *rapid.T) snapshot.Slot {
	s := snapshot.Slot{State: snapshot.SlotState(rapid.IntRange(0, 2).Draw(t, "state")), Since: uint64(rapid.IntRange(0, 2).Draw(t, "since"))}
	if s.State == snapshot.Free {
		return s
	}
	s.Address = rapid.SampledFrom([]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("fd00::1")}).Draw(t, "address")
	s.Port = uint16(rapid.SampledFrom([]int{1, 80, 65535}).Draw(t, "port"))
	s.Weight = uint16(rapid.IntRange(1, snapshot.MaxWeight).Draw(t, "weight"))
	s.Endpoint = rapid.SampledFrom([]string{"shop/a", "shop/b", ""}).Draw(t, "endpoint")
	return s
})

func genGenerationDelta(t *rapid.T) snapshot.GenerationDelta {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for _, b := range rapid.SliceOfN(genName, 0, 6).Draw(t, "backends") {
		if rapid.IntRange(0, 5).Draw(t, "removed") == 0 {
			d.Tables[b] = snapshot.TableDelta{Removed: true}
			continue
		}
		x := snapshot.TableDelta{
			Reset: rapid.IntRange(0, 5).Draw(t, "reset") == 0, Length: rapid.IntRange(0, 9).Draw(t, "length"),
			Version: snapshot.Version{Epoch: 1, Number: uint64(rapid.IntRange(1, 9).Draw(t, "version"))}, Slots: map[int]snapshot.Slot{},
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 5).Draw(t, "indexes") {
			x.Slots[i] = genSlot.Draw(t, "slot")
		}
		d.Tables[b] = x
	}
	return d
}

// state is what a node holds.
type state struct {
	rev *snapshot.Revision
	gen *snapshot.Generation
}

func (s state) apply(rd snapshot.RevisionDelta, gd snapshot.GenerationDelta, number uint64) state {
	v := snapshot.Version{Epoch: 1, Number: number}
	return state{s.rev.Apply(rd, v), s.gen.Apply(gd, v)}
}

func (s state) marks() wire.Marks { return wire.MarksOf(s.rev, s.gen) }

var nothing = state{snapshot.EmptyRevision(), snapshot.EmptyGeneration()}

var genState = rapid.Custom(func(t *rapid.T) state { return nothing.apply(genRevisionDelta(t), genGenerationDelta(t), 1) })

// text is the whole content without digests and without the versions of tables, which are in no digest either.
func (s state) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, s.rev.Version, s.gen.Version)
	for x := range s.rev.All() {
		fmt.Fprintf(&b, "%q %+v\n", x.Key(), reflect.Indirect(reflect.ValueOf(x)).Interface())
	}
	for t := range s.gen.All() {
		fmt.Fprintf(&b, "%q %d\n", t.Backend, len(t.Slots))
		for i, s := range t.Slots {
			if s != (snapshot.Slot{}) {
				fmt.Fprintf(&b, "  %d %+v\n", i, s)
			}
		}
	}
	return b.String()
}

// travel takes the update through marshalled frames of this size.
func travel(t rapid.TB, u wire.Update, size int) wire.Update {
	t.Helper()
	var a wire.Assembler
	return travelBy(t, &a, u, size)
}

func travelBy(t rapid.TB, a *wire.Assembler, u wire.Update, size int) wire.Update {
	t.Helper()
	frames, err := wire.Frames(u, size)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		g := &fleetv1.Update{}
		if err := proto.Unmarshal(b, g); err != nil {
			t.Fatal(err)
		}
		got, complete, err := a.Add(g)
		if err != nil {
			t.Fatal(err)
		}
		if complete != (i == len(frames)-1) || complete == a.Pending() {
			t.Fatalf("complete after frame %d of %d: %v", i, len(frames), complete)
		}
		if complete {
			return got
		}
	}
	t.Fatal("no frame is the last")
	return wire.Update{}
}

// changes is the update that leads from one state to another.
func changes(from, to state) wire.Update {
	return wire.Update{
		ID: 7, Scope: fleetv1.Scope_SCOPE_CHANGES, From: from.marks(), To: to.marks(),
		Revision: snapshot.DiffRevisions(from.rev, to.rev), Generation: snapshot.DiffGenerations(from.gen, to.gen),
	}
}
