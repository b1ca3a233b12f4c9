package wire_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// positions carries an answer over the wire.
func positions(t rapid.TB, gen *snapshot.Generation, size int) *wire.Positions {
	t.Helper()
	var a wire.PositionAssembler
	frames := wire.PositionFrames(gen, size)
	for i, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		again := &fleetv1.Positions{}
		if err := proto.Unmarshal(b, again); err != nil {
			t.Fatal(err)
		}
		request := &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Positions{Positions: again}}
		if err := wire.CheckRequest(request); err != nil {
			t.Fatal(err)
		}
		got, complete, err := a.Add(again)
		if err != nil {
			t.Fatalf("frame %d of %d: %v", i, len(frames), err)
		}
		if complete != (i == len(frames)-1) {
			t.Fatalf("complete after frame %d of %d", i+1, len(frames))
		}
		if complete {
			return got
		}
	}
	return nil
}

func TestWIRE6_Positions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := nothing.apply(snapshot.RevisionDelta{}, genGenerationDelta(t), 3).gen
		got := positions(t, gen, rapid.SampledFrom([]int{1, 100, 300, 0}).Draw(t, "size"))
		if got.Generation != wire.MarksOf(nil, gen).Generation || len(got.Tables) != gen.Len() {
			t.Fatalf("%d tables of %v, want %d of %v", len(got.Tables), got.Generation, gen.Len(), gen.Version)
		}
		for want := range gen.All() {
			told := got.Tables[want.Backend]
			if told == nil || told.Version != want.Version || told.Length != len(want.Slots) || told.Digest != want.Digest() {
				t.Fatalf("of table %s is told %+v", want.Backend, told)
			}
			slots := make([]snapshot.Slot, told.Length)
			for _, s := range told.Slots {
				slots[s.Index] = s.Slot
			}
			for i, s := range want.Slots {
				if g := slots[i]; g.Address != s.Address || g.Port != s.Port || g.Since != s.Since || s.State != snapshot.Free && g.Endpoint != s.Endpoint {
					t.Fatalf("slot %d is %+v, told as %+v", i, s, g)
				}
			}
		}
	})
}

// told is a small answer, for a test to spoil.
func told() []*fleetv1.Positions { return wire.PositionFrames(small().gen, 0) }

func TestWIRE4_Positions(t *testing.T) {
	slot := func(change func(*fleetv1.SlotPosition)) func([]*fleetv1.Positions) []*fleetv1.Positions {
		return func(f []*fleetv1.Positions) []*fleetv1.Positions {
			change(f[0].GetTables()[0].GetSlots()[0])
			return f
		}
	}
	table := func(change func(*fleetv1.TablePositions)) func([]*fleetv1.Positions) []*fleetv1.Positions {
		return func(f []*fleetv1.Positions) []*fleetv1.Positions {
			change(f[0].GetTables()[0])
			return f
		}
	}
	for name, spoil := range map[string]func([]*fleetv1.Positions) []*fleetv1.Positions{
		"another sum": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Generation.Digest = make([]byte, 32)
			return f
		},
		"a frame that is not the first": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Frame = 1
			return f
		},
		"a frame twice": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Last = false
			return append(f, f[0])
		},
		"a mark later": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Last = false
			return append(f, &fleetv1.Positions{Frame: 1, Last: true, Generation: &fleetv1.Mark{}})
		},
		"a table twice": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			f[0].Tables = append(f[0].GetTables(), f[0].GetTables()[0])
			return f
		},
		"too many tables of the greatest length": func(f []*fleetv1.Positions) []*fleetv1.Positions {
			for i := range wire.MaxTotalSlots/snapshot.MaxSlots + 1 {
				f[0].Tables = append(f[0].GetTables(), &fleetv1.TablePositions{
					Backend: "b" + strings.Repeat("x", i), Length: snapshot.MaxSlots, Digest: f[0].GetTables()[0].GetDigest(),
				})
			}
			return f
		},
		"no name":         table(func(t *fleetv1.TablePositions) { t.Backend = "" }),
		"a long table":    table(func(t *fleetv1.TablePositions) { t.Length = snapshot.MaxSlots + 1 }),
		"a short digest":  table(func(t *fleetv1.TablePositions) { t.Digest = []byte("x") }),
		"no digest":       table(func(t *fleetv1.TablePositions) { t.Digest = nil }),
		"a slot twice":    table(func(t *fleetv1.TablePositions) { t.Slots = append(t.GetSlots(), t.GetSlots()[0]) }),
		"slot 0":          slot(func(s *fleetv1.SlotPosition) { s.Slot = 0 }),
		"slot beyond":     slot(func(s *fleetv1.SlotPosition) { s.Slot = 4 }),
		"slot far beyond": slot(func(s *fleetv1.SlotPosition) { s.Slot = 1<<32 - 1 }),
		"a long endpoint": slot(func(s *fleetv1.SlotPosition) { s.Endpoint = strings.Repeat("x", 1025) }),
		"half an address": slot(func(s *fleetv1.SlotPosition) { s.Address = []byte{10, 0} }),
		"port alone":      slot(func(s *fleetv1.SlotPosition) { s.Address = nil }),
		"address alone":   slot(func(s *fleetv1.SlotPosition) { s.Port = 0 }),
		"a large port":    slot(func(s *fleetv1.SlotPosition) { s.Port = 65536 }),
	} {
		t.Run(name, func(t *testing.T) {
			var a wire.PositionAssembler
			for _, f := range spoil(told()) {
				_, complete, err := a.Add(f)
				if complete {
					t.Fatal("it is taken")
				}
				if err != nil {
					if wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
						t.Errorf("it is refused with %v", err)
					}
					return
				}
			}
			t.Error("it is taken so far")
		})
	}
}

func TestWIRE4_AnAnswerWithoutAnEndIsBroken(t *testing.T) {
	var a wire.PositionAssembler
	mark := told()[0].GetGeneration()
	for i := range uint32(wire.MaxPositionFrames + 1) {
		if _, _, err := a.Add(&fleetv1.Positions{Frame: i, Generation: mark}); err != nil {
			if i != wire.MaxPositionFrames {
				t.Errorf("frame %d is refused: %v", i, err)
			}
			return
		}
		mark = nil
	}
	t.Error("it goes on")
}

func TestWIRE4_AnAnswerOfTooManyBytesIsBroken(t *testing.T) {
	var a wire.PositionAssembler
	// Fields that nobody knows are ignored, and count.
	filling := protowire.AppendBytes(protowire.AppendTag(nil, 999, protowire.BytesType), make([]byte, 1<<20))
	for i := range uint32(wire.MaxPositionBytes>>20 + 1) {
		f := &fleetv1.Positions{Frame: i}
		if i == 0 {
			f.Generation = told()[0].GetGeneration()
		}
		f.ProtoReflect().SetUnknown(filling)
		if _, _, err := a.Add(f); err != nil {
			if wire.CodeOf(err) != fleetv1.Code_CODE_INVALID || !strings.Contains(err.Error(), "bytes") {
				t.Errorf("frame %d is refused with %v", i, err)
			}
			return
		}
	}
	t.Error("it goes on")
}

// FuzzPositions is the plane's side of adoption: whatever frames a node sends, there is an error or positions that keep the limits.
func FuzzPositions(f *testing.F) {
	for _, size := range []int{1, 0} {
		var seed []byte
		for _, p := range wire.PositionFrames(small().gen, size) {
			b, err := proto.Marshal(p)
			if err != nil {
				f.Fatal(err)
			}
			seed = append(binary.AppendUvarint(seed, uint64(len(b))), b...)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a wire.PositionAssembler
		for len(data) > 0 {
			n, k := binary.Uvarint(data)
			if k <= 0 || n > uint64(len(data)-k) {
				return
			}
			frame := &fleetv1.Positions{}
			if proto.Unmarshal(data[k:k+int(n)], frame) != nil {
				return
			}
			data = data[k+int(n):]
			got, complete, err := a.Add(frame)
			if err != nil {
				return
			}
			if !complete {
				continue
			}
			var sum snapshot.Digest
			for backend, table := range got.Tables {
				sum = sum.Add(table.Digest)
				if snapshot.CheckName(backend) != nil || table.Length > snapshot.MaxSlots {
					t.Fatalf("table %q of %d slots", backend, table.Length)
				}
				for _, s := range table.Slots {
					if s.Index < 0 || s.Index >= table.Length || (s.State == snapshot.Free) == s.Address.IsValid() {
						t.Fatalf("slot %+v of %d", s, table.Length)
					}
				}
			}
			if sum != got.Generation.Digest {
				t.Fatal("the tables do not add up")
			}
			return
		}
	})
}
