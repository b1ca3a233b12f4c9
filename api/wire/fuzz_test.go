package wire_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// record writes frames one after the other, each with its length in front.
func record(f *testing.F, frames []*fleetv1.Update) []byte {
	f.Helper()
	var out []byte
	for _, x := range frames {
		b, err := proto.Marshal(x)
		if err != nil {
			f.Fatal(err)
		}
		out = binary.AppendUvarint(out, uint64(len(b)))
		out = append(out, b...)
	}
	return out
}

// small is a state with little of everything, so that the fuzzer finds its way through it.
func small() state {
	rd := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	pem := []byte("pem")
	for _, r := range []snapshot.Resource{
		&snapshot.Section{Type: "global", Lines: []snapshot.Line{{"daemon"}}},
		&snapshot.Backend{Name: "b", Defaults: "d", ServerOptions: []string{"check"}},
		&snapshot.Map{Name: "m"}, &snapshot.MapEntry{Map: "m", Name: "k", Value: "v"},
		&snapshot.Certificate{Name: "c", ServerNames: []string{"x"}, Content: snapshot.PEMDigest(pem), PEM: pem},
	} {
		rd.Changes[r.Key()] = r
	}
	ready := snapshot.Slot{State: snapshot.Ready, Address: netip.MustParseAddr("10.0.0.1"), Port: 80, Weight: 1, Endpoint: "e"}
	d, _ := snapshot.DiffTables(nil, &snapshot.Table{Backend: "b", Slots: []snapshot.Slot{ready, {Since: 1}, {}}})
	return nothing.apply(rd, snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{"b": d}}, 1)
}

// FuzzAssemble is the node's side of the stream: whatever frames a plane sends, the node has an error or an update that it can apply and write
// into its journal.
func FuzzAssemble(f *testing.F) {
	b := small()
	for _, u := range []wire.Update{wire.Everything(b.rev, b.gen), changes(nothing, b), changes(b, nothing.apply(snapshot.RevisionDelta{}, snapshot.GenerationDelta{}, 2))} {
		for _, size := range []int{100, 0} {
			frames, err := wire.Frames(u, size)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(record(f, frames))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a wire.Assembler
		for len(data) > 0 {
			n, k := binary.Uvarint(data)
			if k <= 0 || n > uint64(len(data)-k) {
				return
			}
			frame := &fleetv1.Update{}
			if proto.Unmarshal(data[k:k+int(n)], frame) != nil {
				return
			}
			data = data[k+int(n):]
			u, complete, err := a.Add(frame)
			if err != nil {
				if wire.CodeOf(err) != fleetv1.Code_CODE_INVALID || a.Pending() {
					t.Fatalf("after %v the assembler is pending: %v", err, a.Pending())
				}
				continue
			}
			if complete {
				for _, held := range []state{nothing, b} {
					checkUpdate(t, u, held)
				}
			}
		}
	})
}

// checkUpdate applies what came in as it is, and once more with the digests that it should have announced.
func checkUpdate(t *testing.T, u wire.Update, held state) {
	slots := 0
	for _, x := range u.Generation.Tables {
		slots += x.Length
	}
	if slots > 1<<16 {
		return // within the bound, but too much to do ten thousand times a second
	}
	before := held.text()
	if rev, gen, err := u.Apply(held.rev, held.gen); err == nil {
		consistent(t, state{rev, gen}, u)
	} else if c := wire.CodeOf(err); c != fleetv1.Code_CODE_BASE_MISMATCH && c != fleetv1.Code_CODE_DIGEST_MISMATCH {
		t.Fatalf("what the assembler let through is refused by Apply: %v", err)
	}
	want := sealed(&u, held)
	rev, gen, err := u.Apply(held.rev, held.gen)
	if err != nil {
		t.Fatalf("with the right digests: %v", err)
	}
	consistent(t, state{rev, gen}, u)
	same(t, state{rev, gen}, want)
	again := travel(t, u, 200)
	if rev, gen, err = again.Apply(held.rev, held.gen); err != nil {
		t.Fatalf("from the journal: %v", err)
	}
	same(t, state{rev, gen}, want)
	if held.text() != before {
		t.Fatal("what was held is altered")
	}
}

// sealed gives the update the digests of what it does to this state, and returns the state after it.
func sealed(u *wire.Update, held state) state {
	from, want := held, held
	u.From = held.marks()
	if u.Scope == fleetv1.Scope_SCOPE_EVERYTHING {
		from = nothing
	}
	rd, gd := u.Revision, u.Generation
	if u.Scope == fleetv1.Scope_SCOPE_BUCKETS {
		var with []snapshot.Resource
		for _, r := range rd.Changes {
			with = append(with, r)
		}
		rd = held.rev.ReplaceBuckets(in(u.RevisionBuckets), with)
		gd = held.gen.ReplaceBuckets(in(u.GenerationBuckets), gd.Tables)
	}
	if u.ChangesRevision() {
		want.rev = from.rev.Apply(rd, u.To.Revision.Version)
		u.To.Revision.Digest = want.rev.Digest()
	}
	if u.ChangesGeneration() {
		want.gen = from.gen.Apply(gd, u.To.Generation.Version)
		u.To.Generation.Digest = want.gen.Digest()
	}
	return want
}

func in(buckets []int) func(int) bool {
	return func(b int) bool {
		for _, x := range buckets {
			if x == b {
				return true
			}
		}
		return false
	}
}

// consistent holds the state against the digests that the update announced and against its own content.
func consistent(t rapid.TB, s state, u wire.Update) {
	t.Helper()
	var rev, gen snapshot.Digest
	for x := range s.rev.All() {
		if err := snapshot.Check(x); err != nil {
			t.Fatalf("the node holds what cannot be: %v", err)
		}
		rev = rev.Add(snapshot.ResourceDigest(x))
	}
	for x := range s.gen.All() {
		gen = gen.Add(x.Digest())
	}
	if rev != s.rev.Digest() || gen != s.gen.Digest() {
		t.Fatalf("digests %s and %s, from scratch %s and %s", s.rev.Digest(), s.gen.Digest(), rev, gen)
	}
	if u.ChangesRevision() && rev != u.To.Revision.Digest || u.ChangesGeneration() && gen != u.To.Generation.Digest {
		t.Fatalf("the state is %v, the update leads to %v", s.marks(), u.To)
	}
}

// FuzzApply (WIRE-3): an update of which bytes were changed on its way is refused, or it leads to the very state that it was made for, or
// to another that it then says itself. The first two inputs make the states before and after, the last says which bytes of the frames to change.
func FuzzApply(f *testing.F) {
	every := []byte{0, 1, 1, 2, 2, 3, 3, 7, 4, 9, 5, 4, 6, 5, 6, 32, 13, 5, 5, 6}
	for scope := range byte(3) {
		f.Add([]byte{}, every, scope, uint16(0), []byte{})
		f.Add(every, every[4:], scope, uint16(64), []byte{})
		f.Add(every[6:], every, scope, uint16(200), []byte{0, 3, 1})
		f.Add(every, []byte{}, scope, uint16(1), []byte{1, 20, 255, 0, 90, 4})
	}
	f.Fuzz(func(t *testing.T, before, after []byte, scope byte, size uint16, damage []byte) {
		a, b := built(before), built(after)
		u := changes(a, b)
		switch scope % 3 {
		case 1:
			u = wire.Everything(b.rev, b.gen)
		case 2:
			var err error
			if u, err = wire.Replace(wire.Buckets(&fleetv1.AskBuckets{Revision: true, Generation: true}, a.rev, a.gen), b.rev, b.gen); err != nil {
				t.Fatal(err)
			}
		}
		frames, err := wire.Frames(u, int(size))
		if err != nil {
			t.Fatal(err)
		}
		var s wire.Assembler
		for i, frame := range frames {
			got, complete, err := s.Add(damaged(t, frame, i, damage))
			if err != nil {
				if len(damage) < 3 {
					t.Fatalf("nothing was changed, but: %v", err)
				}
				return
			}
			if complete != (i == len(frames)-1) {
				return // its mark of the end was hit
			}
			if complete {
				outcome(t, got, a, b, len(damage) < 3)
			}
		}
	})
}

// built makes a state from pairs of bytes: what to write, and with which of a few names and values.
func built(data []byte) state {
	names := []string{"a", "b", "shop_web_80", "shop_web_https"}
	rd := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	put := func(r snapshot.Resource) { rd.Changes[r.Key()] = r }
	slots := map[string][]snapshot.Slot{}
	for len(data) >= 2 {
		op, x := data[0], int(data[1])
		data = data[2:]
		name, value := names[x%4], names[x/4%4]
		switch op % 7 {
		case 0:
			put(&snapshot.Section{Type: "peers", Name: name, Lines: []snapshot.Line{{value, name}}})
		case 1:
			put(&snapshot.Backend{Name: name, Defaults: value, ServerOptions: []string{value}})
		case 2:
			put(&snapshot.Map{Name: name})
		case 3:
			put(&snapshot.MapEntry{Map: name, Name: value, Value: names[x/16%4]})
		case 4:
			put(&snapshot.Certificate{Name: name, ServerNames: []string{value}, Content: snapshot.PEMDigest([]byte(value)), PEM: []byte(value)})
		case 5:
			slots[name] = append(slots[name], snapshot.Slot{Since: uint64(x)})
		case 6:
			addr := netip.AddrFrom4([4]byte{10, 0, 0, data0(data)})
			slots[name] = append(slots[name], snapshot.Slot{State: snapshot.Ready, Address: addr, Port: uint16(x) + 1, Weight: uint16(x) + 1, Endpoint: value})
		}
	}
	gd := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for name, list := range slots {
		gd.Tables[name], _ = snapshot.DiffTables(nil, &snapshot.Table{Backend: name, Slots: list})
	}
	return nothing.apply(rd, gd, 1)
}

func data0(data []byte) byte {
	if len(data) == 0 {
		return 0
	}
	return data[0]
}

// damaged sends the frame through its bytes, changed where the damage (frame, place, by what) says.
func damaged(t *testing.T, frame *fleetv1.Update, number int, damage []byte) *fleetv1.Update {
	data, err := proto.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(damage) >= 3; damage = damage[3:] {
		if int(damage[0]) == number && len(data) > 0 {
			data[int(damage[1])%len(data)] ^= damage[2]
		}
	}
	out := &fleetv1.Update{}
	if proto.Unmarshal(data, out) != nil {
		t.Skip("no message any more")
	}
	return out
}

func outcome(t *testing.T, u wire.Update, a, b state, whole bool) {
	before := a.text()
	rev, gen, err := u.Apply(a.rev, a.gen)
	if a.text() != before {
		t.Fatal("what was held is altered")
	}
	if whole && err == nil {
		same(t, state{rev, gen}, b)
	}
	if err != nil {
		var e *wire.Error
		if whole || !errors.As(err, &e) || rev != nil || gen != nil {
			t.Fatalf("got %v, %v, %v", rev, gen, err)
		}
		return
	}
	consistent(t, state{rev, gen}, u)
	if u.ChangesRevision() && u.To.Revision.Digest == b.rev.Digest() && revisionOf(rev) != revisionOf(b.rev) {
		t.Fatalf("%s has two contents:\n%s\nand\n%s", rev.Digest(), revisionOf(rev), revisionOf(b.rev))
	}
}

func revisionOf(rev *snapshot.Revision) string {
	v := snapshot.EmptyRevision().Apply(rev.Full(), snapshot.Version{})
	return state{v, nothing.gen}.text()
}

// FuzzRequest is the plane's side: no message of a node makes the check fail otherwise than by an error.
func FuzzRequest(f *testing.F) {
	for _, m := range []*fleetv1.SyncRequest{
		{Message: &fleetv1.SyncRequest_Hello{Hello: &fleetv1.Hello{Fleet: "f", Node: "n", Held: sample().marks().Proto()}}},
		{Message: &fleetv1.SyncRequest_Applied{Applied: &fleetv1.Applied{Excepted: []*fleetv1.ExceptedSlot{{Backend: "b", Slot: 1}}}}},
		{Message: &fleetv1.SyncRequest_Buckets{Buckets: &fleetv1.Buckets{Generation: make([]byte, 32)}}},
		{Message: &fleetv1.SyncRequest_Positions{Positions: told()[0]}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	b := small()
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &fleetv1.SyncRequest{}
		if proto.Unmarshal(data, m) != nil || wire.CheckRequest(m) != nil {
			return
		}
		if x := m.GetBuckets(); x != nil {
			u, err := wire.Replace(x, b.rev, b.gen)
			if err != nil {
				t.Fatalf("checked, but: %v", err)
			}
			if u.ChangesRevision() || u.ChangesGeneration() {
				travel(t, u, 0)
			}
		}
		if _, err := wire.MarksFrom(m.GetHello().GetHeld()); err != nil {
			t.Fatalf("checked, but: %v", err)
		}
	})
}
