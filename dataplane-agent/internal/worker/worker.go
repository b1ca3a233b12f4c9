package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// visibleWithin is how long what was written is read again before it counts as not visible; the first reads come much sooner.
const visibleWithin = 60 * time.Millisecond

// One reading of everything is cheaper than one for each from a number of backends that is no small part of all.
const (
	readAllFrom = 64
	readAllPart = 4
)

// Table is what one backend of the worker shall have.
type Table struct {
	Backend string
	Slots   []snapshot.Slot
	// Options are the backend's server options.
	Options []string
}

// Slot names a slot of a backend by its index.
type Slot struct {
	Backend string
	Index   int
}

// Outcome is what became of a batch. What is in none of its fields is as wanted, and has been read to be so.
type Outcome struct {
	// Missing counts the slots, by backend, that the worker has no server for and cannot be given one at run time.
	Missing map[string]int
	// Absent are the backends that the worker does not have.
	Absent []string
	// Refused are the slots that HAProxy refused, with its words. They are free now.
	Refused map[Slot]string
	// Different are the backends that do not show what was written.
	Different []string
	// Maps are the maps that do not show what was written.
	Maps []string
}

// Complete says whether the worker has everything that was wanted, refused slots aside.
func (o Outcome) Complete() bool {
	return len(o.Missing) == 0 && len(o.Absent) == 0 && len(o.Different) == 0 && len(o.Maps) == 0
}

func (o *Outcome) lacks(backend string, slots int) {
	if o.Missing == nil {
		o.Missing = map[string]int{}
	}
	o.Missing[backend] = slots
}

// refuses notes the first of HAProxy's words about a slot.
func (o *Outcome) refuses(s Slot, words string) {
	if o.Refused == nil {
		o.Refused = map[Slot]string{}
	}
	if o.Refused[s] == "" {
		o.Refused[s] = words
	}
}

// Worker is one running worker process.
type Worker struct {
	// Process is the worker's identity on the machine.
	Process haproxy.Identity
	// CanAdd says that `add server` works.
	CanAdd bool

	conn *haproxy.Runtime
	have map[string][]plan.Server
	// fixed are the backends that take no servers at run time.
	fixed map[string]struct{}
}

// New takes over a connection to the worker's runtime socket. Nothing is known of its servers until Read or Assume.
func New(conn *haproxy.Runtime, process haproxy.Identity) *Worker {
	return &Worker{Process: process, conn: conn, have: map[string][]plan.Server{}, fixed: map[string]struct{}{}}
}

// Close ends the connection.
func (w *Worker) Close() { _ = w.conn.Close() }

// Serves asks the worker whether it takes traffic: haproxy.ErrStopping says that it is leaving.
func (w *Worker) Serves(ctx context.Context) error {
	info, err := w.conn.Info(ctx)
	if err == nil && info.Stopping {
		err = haproxy.ErrStopping
	}
	if err != nil {
		return fmt.Errorf("ask worker %d whether it serves: %w", w.Process.PID, err)
	}
	return nil
}

// Assume notes what a worker has that was started with this table in its configuration, until it is read.
func (w *Worker) Assume(backend string, slots []snapshot.Slot) {
	servers := make([]plan.Server, len(slots))
	for i, s := range slots {
		servers[i] = plan.Wanted(s)
		servers[i].Weight = uint16(render.ServerWeight(s)) //nolint:gosec // At most 256.
		if s.State == snapshot.Drain {
			servers[i].State = snapshot.Ready // a configuration can only say "weight 0"
		}
	}
	w.have[backend] = servers
}

// ReadAll reads all servers of the worker.
func (w *Worker) ReadAll(ctx context.Context) error {
	_, err := w.Servers(ctx)
	return err
}

// Servers is ReadAll, and returns what the worker has answered.
func (w *Worker) Servers(ctx context.Context) ([]haproxy.Server, error) {
	servers, err := w.conn.ServersState(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read all servers of worker %d: %w", w.Process.PID, err)
	}
	w.have = group(servers)
	return servers, nil
}

// Backends lists what the worker was last read to have. The caller does not alter it.
func (w *Worker) Backends() map[string][]plan.Server { return w.have }

// read reads some backends, or all where that is cheaper.
func (w *Worker) read(ctx context.Context, backends []string) error {
	if len(backends) >= readAllFrom && len(backends)*readAllPart >= len(w.have) {
		return w.ReadAll(ctx)
	}
	return w.readEach(ctx, backends)
}

// readEach reads some backends. One that the worker does not have is forgotten.
func (w *Worker) readEach(ctx context.Context, backends []string) error {
	answers, err := w.conn.ServersStates(ctx, backends)
	if err != nil {
		return fmt.Errorf("read %d backends of worker %d: %w", len(backends), w.Process.PID, err)
	}
	for i, a := range answers {
		if a.Err != nil && !errors.Is(a.Err, haproxy.ErrNoSuchBackend) {
			return fmt.Errorf("read backend %s of worker %d: %w", backends[i], w.Process.PID, a.Err)
		}
		delete(w.have, backends[i])
		if a.Err == nil {
			w.have[backends[i]] = group(a.Servers)[backends[i]] // nil if it is there without a server
		}
	}
	return nil
}

// Apply brings the worker to the tables and the changes of maps, and reads it back. An error means that the worker could not be asked (see
// haproxy.ErrStopping and haproxy.ErrConnection) and that what it has is not known.
func (w *Worker) Apply(ctx context.Context, tables []Table, maps []plan.MapChange) (Outcome, error) {
	out := Outcome{}
	touched := map[string]Table{}
	if err := w.learn(ctx, tables); err != nil {
		return out, err
	}
	commands := w.plan(tables, maps, touched, &out)
	if len(commands) == 0 {
		return out, nil
	}
	commands, err := w.place(ctx, commands, touched, &out)
	if err == nil {
		err = w.write(ctx, commands, &out)
	}
	if err != nil {
		w.forget(touched)
		return out, err
	}
	if len(out.Refused) > 0 {
		if err := w.vacate(ctx, &out); err != nil {
			w.forget(touched)
			return out, err
		}
	}
	if err := w.readBack(ctx, touched, &out); err != nil {
		w.forget(touched)
		return out, err
	}
	return out, w.readMaps(ctx, maps, &out)
}

// learn reads the backends of which nothing is known. One by one, as a reading of everything does not show a backend without servers.
func (w *Worker) learn(ctx context.Context, tables []Table) error {
	var unknown []string
	for _, t := range tables {
		if _, ok := w.have[t.Backend]; !ok {
			unknown = append(unknown, t.Backend)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return w.readEach(ctx, unknown)
}

func (w *Worker) plan(tables []Table, maps []plan.MapChange, touched map[string]Table, out *Outcome) []plan.Command {
	var commands []plan.Command
	for _, t := range tables {
		have, ok := w.have[t.Backend]
		if !ok {
			out.Absent = append(out.Absent, t.Backend)
			continue
		}
		_, fixed := w.fixed[t.Backend]
		c, missing := plan.Table{Backend: t.Backend, Have: have, Want: t.Slots, Options: t.Options, CanAdd: w.CanAdd && !fixed}.Commands()
		if missing > 0 {
			out.lacks(t.Backend, missing)
		}
		if len(c) > 0 {
			touched[t.Backend] = t
			commands = append(commands, c...)
		}
	}
	commands = append(commands, plan.MapCommands(maps)...)
	plan.Sort(commands)
	return commands
}

// place writes the first phases and waits until the worker shows the addresses that it was given (WORKER-5). It returns the commands that follow: none of a backend whose
// addresses are not shown in time, and none of a slot whose address HAProxy refused.
func (w *Worker) place(ctx context.Context, commands []plan.Command, touched map[string]Table, out *Outcome) ([]plan.Command, error) {
	n := 0
	placed := map[string][]int{}
	for n < len(commands) && commands[n].Phase <= plan.Place {
		if c := commands[n]; c.Phase == plan.Place {
			placed[c.Backend] = append(placed[c.Backend], c.Slot)
		}
		n++
	}
	if n == 0 {
		return commands, nil
	}
	if err := w.write(ctx, commands[:n], out); err != nil {
		return nil, err
	}
	hidden, err := w.await(ctx, slices.Collect(maps.Keys(placed)), func(b string) bool {
		_, fixed := w.fixed[b]
		for _, i := range placed[b] {
			if fixed && i >= len(w.have[b]) {
				continue // it could not be added
			}
			if i >= len(w.have[b]) || w.have[b][i].Address != plan.Wanted(touched[b].Slots[i]).Address && out.Refused[Slot{b, i}] == "" {
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(commands[n:], func(c plan.Command) bool {
		return slices.Contains(hidden, c.Backend) || out.Refused[Slot{c.Backend, c.Slot}] != ""
	}), nil
}

// write sends the commands and sorts the answers.
func (w *Worker) write(ctx context.Context, commands []plan.Command, out *Outcome) error {
	lines := make([]string, len(commands))
	for i, c := range commands {
		lines[i] = c.Line
	}
	replies, err := w.conn.Do(ctx, lines)
	if err != nil {
		return fmt.Errorf("write %d commands to worker %d: %w", len(lines), w.Process.PID, err)
	}
	for i, r := range replies {
		if r.Err == nil {
			continue
		}
		switch c := commands[i]; {
		case errors.Is(r.Err, haproxy.ErrStopping):
			return fmt.Errorf("write to worker %d: %w", w.Process.PID, r.Err)
		case c.Slot < 0:
			// A map's answer does not count: the map is read back.
		case errors.Is(r.Err, haproxy.ErrNoSuchBackend), errors.Is(r.Err, haproxy.ErrNoSuchServer):
			// What is known of the worker is wrong; reading back shows it.
		case strings.HasPrefix(c.Line, "add server "):
			w.fixed[c.Backend] = struct{}{} // reading back shows how many slots are missing; a reload brings them
		default:
			out.refuses(Slot{c.Backend, c.Slot}, r.Err.Error())
		}
	}
	return nil
}

// vacate makes the refused slots free.
func (w *Worker) vacate(ctx context.Context, out *Outcome) error {
	var lines []string
	for s := range out.Refused {
		for _, c := range plan.Vacate(s.Backend, s.Index) {
			lines = append(lines, c.Line)
		}
	}
	if _, err := w.conn.Do(ctx, lines); err != nil {
		return fmt.Errorf("vacate %d slots that HAProxy refused: %w", len(out.Refused), err)
	}
	return nil
}

// readBack reads the touched backends until they are as wanted or the time for it is over.
func (w *Worker) readBack(ctx context.Context, touched map[string]Table, out *Outcome) error {
	different, err := w.await(ctx, slices.Collect(maps.Keys(touched)), func(b string) bool { return w.equal(touched[b], out) })
	out.Different = different
	return err
}

// await reads backends until each is as it should be or the time for it is over, and returns those that are not, sorted.
func (w *Worker) await(ctx context.Context, pending []string, shown func(backend string) bool) ([]string, error) {
	if len(pending) == 0 {
		return nil, nil
	}
	deadline := time.Now().Add(visibleWithin)
	for wait := time.Millisecond; ; wait *= 2 {
		if err := w.read(ctx, pending); err != nil {
			return nil, err
		}
		if pending = slices.DeleteFunc(pending, shown); len(pending) == 0 {
			return nil, nil
		}
		if time.Now().Add(wait).After(deadline) {
			slices.Sort(pending)
			return pending, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("read back %d backends of worker %d: %w", len(pending), w.Process.PID, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// equal says whether the worker shows the table: the refused slots free, and without those that it cannot be given.
func (w *Worker) equal(t Table, out *Outcome) bool {
	have := w.have[t.Backend]
	if _, fixed := w.fixed[t.Backend]; fixed && len(have) < len(t.Slots) {
		out.lacks(t.Backend, len(t.Slots)-len(have))
	}
	want := t.Slots[:len(t.Slots)-out.Missing[t.Backend]]
	for _, i := range plan.Different(have, want) {
		if out.Refused[Slot{t.Backend, i}] == "" || i >= len(have) || !have[i].Equal(plan.Wanted(snapshot.Slot{})) {
			return false
		}
	}
	return true
}

// forget drops what is known of the backends, so that they are read before the next plan.
func (w *Worker) forget(touched map[string]Table) {
	for b := range touched {
		delete(w.have, b)
	}
}
