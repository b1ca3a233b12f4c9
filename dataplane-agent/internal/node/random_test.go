package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// world is what a plane wants, and the faults that meet a node. Slot 1 of every table says by its port how new the table is.
type world struct {
	*state
	t      *testing.T
	rnd    *rand.Rand
	m      *machine
	a      *agent
	ticks  int
	killed int
	old    map[string]string // files of an earlier time

	mu      sync.Mutex // guards history, which the watcher reads
	history map[snapshot.Digest]*snapshot.Generation
}

// place is an address where nobody listens.
var place = netip.MustParseAddr("127.9.9.9")

const firstPort = 10000

func (w *world) slot() snapshot.Slot {
	s := snapshot.Slot{State: snapshot.Ready, Address: place, Port: uint16(w.rnd.IntN(9000) + 1000), Weight: uint16(w.rnd.IntN(256) + 1), Endpoint: "e"}
	switch w.rnd.IntN(8) {
	case 0, 1:
		s.State = snapshot.Drain
	case 2, 3, 4:
		return snapshot.Slot{}
	case 5:
		s.Address, s.Port = w.itself().Addr(), w.itself().Port()
	}
	return s
}

// touch changes a table, or makes it, and lets it grow at times.
func (w *world) touch(backend string) {
	next := &snapshot.Table{Backend: backend, Slots: make([]snapshot.Slot, 4)}
	if old := w.gen.Table(backend); old != nil {
		next.Slots = slices.Clone(old.Slots)
	}
	if w.rnd.IntN(10) == 0 && len(next.Slots) < 12 {
		next.Slots = append(next.Slots, make([]snapshot.Slot, 1+w.rnd.IntN(3))...)
	}
	for range 1 + w.rnd.IntN(3) {
		next.Slots[1+w.rnd.IntN(len(next.Slots)-1)] = w.slot()
	}
	w.ticks++
	next.Slots[0] = snapshot.Slot{State: snapshot.Ready, Address: place, Port: uint16(firstPort + w.ticks), Weight: 100, Endpoint: "first"}
	next.Version = w.gen.Version.Next(1)
	d, _ := snapshot.DiffTables(w.gen.Table(backend), next)
	w.generation(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{backend: d}})
}

func (w *world) generation(d snapshot.GenerationDelta) {
	w.gen = w.gen.Apply(d, w.gen.Version.Next(1))
	w.mu.Lock()
	w.history[w.gen.Digest()] = w.gen
	w.mu.Unlock()
}

func (w *world) backends() []string {
	var out []string
	for b := range snapshot.Of[*snapshot.Backend](w.rev, snapshot.KindBackend) {
		if b.Name != "unavailable" && b.Name != "bad" {
			out = append(out, b.Name)
		}
	}
	return out
}

// step changes what is wanted.
func (w *world) step() {
	names := w.backends()
	some := names[w.rnd.IntN(len(names))]
	switch n := w.rnd.IntN(100); {
	case n < 60:
		w.touch(some)
	case n < 70:
		w.change(route(fmt.Sprint("/r", w.rnd.IntN(20)), some))
	case n < 78:
		w.change(snapshot.EntryKey("exact", fmt.Sprint("/r", w.rnd.IntN(20))))
	case n < 88 && len(names) < 12:
		name := fmt.Sprint("b", w.ticks)
		w.change(backend(name), route("/"+name, name))
		w.touch(name)
	case n < 94 && len(names) > 2:
		w.change(snapshot.Key{Kind: snapshot.KindBackend, Name: some}, snapshot.EntryKey("exact", "/"+some))
		w.generation(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{some: {Removed: true}}})
	case n < 97:
		bad := backend("bad")
		bad.Lines = []snapshot.Line{{"no-such-keyword", fmt.Sprint(w.ticks)}}
		w.change(bad)
	default:
		w.mend()
	}
}

// mend takes the backend away that HAProxy refuses.
func (w *world) mend() {
	if w.rev.Backend("bad") != nil {
		w.change(snapshot.Key{Kind: snapshot.KindBackend, Name: "bad"})
	}
}

// send brings the node what it lacks, as a plane would after any break.
func (w *world) send() {
	h := w.a.Hello()
	u := wire.Update{Scope: fleetv1.Scope_SCOPE_CHANGES, From: h.Held, Seen: time.Now()}
	if h.Held.Revision.Digest != w.rev.Digest() {
		u.To.Revision, u.Revision = wire.MarksOf(w.rev, nil).Revision, snapshot.DiffRevisions(h.Revision, w.rev)
	}
	if h.Held.Generation.Digest != w.gen.Digest() {
		u.To.Generation, u.Generation = wire.MarksOf(nil, w.gen).Generation, snapshot.DiffGenerations(h.Generation, w.gen)
	}
	switch {
	case !u.ChangesRevision() && !u.ChangesGeneration():
		if !h.Dirty {
			return
		}
		u.To = h.Held // a plane confirms what a dirty node holds
	case w.rnd.IntN(20) == 0:
		u = wire.Everything(w.rev, w.gen)
	}
	w.a.must(u)
}

// check reads the worker as somebody else and fails on what must never be seen. reported is what the node said before.
func (w *world) check(r *haproxy.Runtime, pid int64, reported snapshot.Digest) {
	info, err := r.Info(context.Background())
	if err != nil || int64(info.PID) != pid {
		return
	}
	servers, err := r.ServersState(context.Background(), "")
	if err != nil {
		return
	}
	w.mu.Lock()
	gen := w.history[reported]
	w.mu.Unlock()
	for _, s := range servers {
		switch {
		case s.Maint:
		case s.Address() == snapshot.Placeholder:
			w.t.Errorf("%s/%s is an enabled placeholder", s.Backend, s.Name)
		case s.Address() == w.itself():
			w.t.Errorf("%s/%s is HAProxy itself", s.Backend, s.Name)
		}
		if gen == nil || s.Name != "s1" || gen.Table(s.Backend) == nil {
			continue
		}
		if want := gen.Table(s.Backend).Slots[0].Port; s.Port < want {
			w.t.Errorf("%s has its table of tick %d, and %d was reported applied before", s.Backend, s.Port-firstPort, want-firstPort)
		}
	}
}

// watch samples the worker until done is closed.
func (w *world) watch(hello func() (int64, snapshot.Digest), done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
		pid, reported := hello()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if r, err := haproxy.DialRuntime(ctx, w.m.socket("worker.sock")); err == nil {
			w.check(r, pid, reported)
			_ = r.Close()
		}
		cancel()
	}
}

// different says what of the worker, or of its files, is not as wanted.
func (w *world) different() string {
	var out []string
	text := w.m.config()
	failed := w.m.ask(func(r *haproxy.Runtime) {
		for b := range snapshot.Of[*snapshot.Backend](w.rev, snapshot.KindBackend) {
			servers, err := r.ServersState(context.Background(), b.Name)
			if err != nil {
				out = append(out, b.Name+": "+err.Error())
			}
			if got, want := worked(servers), w.wanted(b.Name); got != want {
				out = append(out, fmt.Sprintf("%s: worker %s, want %s", b.Name, got, want))
			}
			if got, want := lines(text, b.Name), w.wantedLines(b.Name); got != want {
				out = append(out, fmt.Sprintf("%s: file %s, want %s", b.Name, got, want))
			}
		}
		entries, err := r.Map(context.Background(), "maps/exact.map")
		if err != nil {
			out = append(out, err.Error())
		}
		var got, want []string
		for _, e := range entries {
			got = append(got, e.Key+" "+e.Value)
		}
		for e := range w.rev.Entries("exact") {
			want = append(want, e.Name+" "+e.Value)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			out = append(out, fmt.Sprintf("map: worker %s, want %s", got, want))
		}
		file, _ := os.ReadFile(w.m.socket("maps/exact.map"))
		if string(file) != strings.Join(append(want, ""), "\n") {
			out = append(out, fmt.Sprintf("map: file %q, want %s", file, want))
		}
	})
	if failed != nil {
		return failed.Error()
	}
	return strings.Join(out, "\n")
}

func worked(servers []haproxy.Server) string {
	var out []string
	for _, s := range servers {
		switch {
		case s.Maint:
			out = append(out, s.Address().String())
		case s.Drain:
			out = append(out, fmt.Sprintf("drain %s %d", s.Address(), s.Weight))
		default:
			out = append(out, fmt.Sprintf("ready %s %d", s.Address(), s.Weight))
		}
	}
	return strings.Join(out, ", ")
}

// own says whether a slot is a listener of the HAProxy under test.
func (w *world) own(s snapshot.Slot) bool { return s.Server() == w.itself() }

// itself is where the HAProxy under test listens.
func (w *world) itself() netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(w.m.cfg.Settings.HTTPPort))
}

func (w *world) wanted(backend string) string {
	var out []string
	t := w.gen.Table(backend)
	if t == nil {
		return ""
	}
	for _, s := range t.Slots {
		switch {
		case s.State == snapshot.Free || w.own(s):
			out = append(out, snapshot.Placeholder.String())
		default:
			out = append(out, fmt.Sprintf("%s %s %d", s.State, s.Server(), s.Weight))
		}
	}
	return strings.Join(out, ", ")
}

func (w *world) wantedLines(backend string) string {
	var out []string
	if t := w.gen.Table(backend); t != nil {
		for _, s := range t.Slots {
			if w.own(s) {
				s = snapshot.Slot{}
			}
			out = append(out, s.Server().String())
		}
	}
	return strings.Join(out, " ")
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q: %v", name, text, err)
	}
	return n
}

// Whatever a plane wants and whatever happens around the node: nothing older is applied after what was reported, and soon after the faults are over worker
// and files are as wanted. BERTH_RANDOM_SECONDS makes it longer, BERTH_RANDOM_SEED repeats the choices of a run.
func TestRandomChangesAndFaults(t *testing.T) {
	seconds := setting(t, "BERTH_RANDOM_SECONDS", 10)
	seed := setting(t, "BERTH_RANDOM_SEED", time.Now().UnixNano())
	t.Logf("BERTH_RANDOM_SEED=%d", seed)
	eachHAProxy(t, func(t *testing.T, binary string) {
		w := &world{state: newState(), t: t, rnd: rand.New(rand.NewPCG(uint64(seed), 0)), m: newMachine(t, binary), history: map[snapshot.Digest]*snapshot.Generation{}}
		w.m.cfg.ReloadSpacing, w.m.cfg.Verify, w.m.cfg.CommandTimeout = 50*time.Millisecond, 500*time.Millisecond, time.Second
		w.m.cfg.SocketGone = 500 * time.Millisecond
		w.a = w.m.start()
		for i := range 3 {
			name := fmt.Sprint("a", i)
			w.change(backend(name), route("/"+name, name))
			w.touch(name)
		}
		w.send()
		w.a.applied(w.state)

		var current sync.Mutex // guards what the watcher asks
		hello := func() (int64, snapshot.Digest) {
			current.Lock()
			defer current.Unlock()
			h := w.a.Hello()
			return h.Worker.GetPid(), h.Applied.Generation.Digest
		}
		done := make(chan struct{})
		var watching sync.WaitGroup
		watching.Go(func() { w.watch(hello, done) })
		stop := sync.OnceFunc(func() { close(done); watching.Wait() })
		defer stop()

		for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
			for range 1 + w.rnd.IntN(3) {
				w.step()
			}
			w.send()
			if w.rnd.IntN(12) == 0 {
				func() {
					current.Lock()
					defer current.Unlock()
					w.fault()
				}()
			}
			<-time.After(time.Duration(w.rnd.IntN(40)) * time.Millisecond)
		}
		w.mend()
		w.send()
		over := time.Now()
		for what := w.different(); what != "" || !w.m.open() || !w.a.Hello().Applied.Same(wire.MarksOf(w.rev, w.gen)); what = w.different() {
			if bound := soon(); time.Since(over) > bound {
				t.Fatalf("%s after the last fault (applied %v):\n%s", bound, w.a.Hello().Applied.Same(wire.MarksOf(w.rev, w.gen)), what)
			}
			<-time.After(20 * time.Millisecond)
		}
		t.Logf("%d changes of tables, current %s after the last one", w.ticks, time.Since(over).Round(time.Millisecond))
	})
}

// soon is how long a node may take to be current when the faults are over: 5 s, and more on a machine that has other things to do than this test: emptied
// folders, stopped workers and reloads by hand at the same moment cost several reloads, of a second each there.
func soon() time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	var load float64
	if _, scanErr := fmt.Sscan(string(text), &load); err == nil && scanErr == nil && load < float64(runtime.NumCPU()) {
		return 5 * time.Second
	}
	return 20 * time.Second
}

// open says whether HAProxy takes requests, whatever it answers.
func (m *machine) open() bool {
	err := m.try("/none")
	return err == nil || strings.Contains(err.Error(), " 503 ")
}
