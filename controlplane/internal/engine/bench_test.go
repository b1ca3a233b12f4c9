package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// turn is the engine's work on one thread: from a batch of a source to the encoded update, without goroutines, so that it can be counted.
type turn struct {
	store  *store.Store
	engine *Engine
	log    *changelog.Log
}

func newTurn(tb testing.TB, backends int) *turn {
	tb.Helper()
	s := store.New("home")
	e := New(Config{Store: s, Compiler: compile.New("home"), Nodes: node.New(time.Now), Fleets: changelog.NewDirectory(), Log: zerolog.Nop()})
	x := &turn{store: s, engine: e}
	b := source.Batch{Source: "home", Seen: time.Now(), Full: true, State: &source.State{Listed: true, Synced: true}}
	for i := range backends {
		name := fmt.Sprintf("web-%05d", i)
		for _, o := range web(name, "10.0.0.1", "10.0.0.2", "10.0.0.3") {
			b.Put = append(b.Put, source.NewRow("home", o))
		}
	}
	x.apply(b)
	f, ok := e.config.Fleets.Fleets().Get("default")
	if !ok || f.Log.Head().Generation.Len() != backends {
		tb.Fatalf("%d backends were not published", backends)
	}
	x.log = f.Log
	return x
}

func (x *turn) apply(b source.Batch) {
	x.engine.take(news{x.store.Apply(b), x.store.Read()})
	x.engine.settle(time.Now())
}

// move replaces the third pod of one backend and returns the bytes that go to each node.
func (x *turn) move(tb testing.TB, n int) int {
	held := x.log.Head().Marks()
	pod := fmt.Sprintf("10.0.%d.%d", 1+n/200%200, 1+n%200)
	x.apply(source.Batch{Source: "home", Seen: time.Now(), Put: []source.Row{source.NewRow("home", slice("web-00005", "10.0.0.1", "10.0.0.2", pod))}})
	_, shared, known, err := x.log.Since(held, true)
	if err != nil || !known || shared == nil {
		tb.Fatalf("the change leads to no update: known %v, %v", known, err)
	}
	return shared.Size()
}

// ENG-4: allocations and bytes of one change are the same within a fifth, in 10 backends and in 10,000.
func TestENG4TheCostOfAChangeIsThatOfOneBackend(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds 10,000 backends")
	}
	cost := func(backends int) (allocations float64, bytes int) {
		x := newTurn(t, backends)
		n := 0
		var sizes []int
		allocations = testing.AllocsPerRun(200, func() {
			n++
			sizes = append(sizes, x.move(t, n))
		})
		slices.Sort(sizes)
		return allocations, sizes[len(sizes)/2]
	}
	fewAllocations, fewBytes := cost(10)
	manyAllocations, manyBytes := cost(10000)
	t.Logf("10 backends: %.0f allocations, %d bytes; 10,000 backends: %.0f allocations, %d bytes", fewAllocations, fewBytes, manyAllocations, manyBytes)
	if manyAllocations > 1.2*fewAllocations {
		t.Errorf("%.0f allocations in 10 backends, %.0f in 10,000", fewAllocations, manyAllocations)
	}
	if float64(manyBytes) > 1.2*float64(fewBytes) {
		t.Errorf("%d bytes in 10 backends, %d in 10,000", fewBytes, manyBytes)
	}
}

func BenchmarkOneChange(b *testing.B) {
	for _, backends := range []int{10, 10000} {
		b.Run(fmt.Sprintf("backends=%d", backends), func(b *testing.B) {
			x := newTurn(b, backends)
			n, bytes := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				bytes = x.move(b, n)
			}
			b.ReportMetric(float64(bytes), "wire-bytes")
		})
	}
}
