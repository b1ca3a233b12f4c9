package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// A screen shows the state of the demo, in place or now and then.
type screen struct {
	demo *demo
	out  io.Writer
	live bool

	mu    sync.Mutex // guards what follows, and makes one writing after the other
	drawn int        // lines on the screen that the next drawing replaces
}

func newScreen(d *demo, o Options) *screen { return &screen{demo: d, out: o.Out, live: o.Live} }

// run draws until ctx ends, and once more then.
func (s *screen) run(ctx context.Context) {
	interval := 5 * time.Second
	if s.live {
		interval = 500 * time.Millisecond
	}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			s.draw()
			return
		case <-ticks.C:
			s.draw()
		}
	}
}

// say prints what begins now. It stays, above what is redrawn.
func (s *screen) say(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	_, _ = fmt.Fprintf(s.out, "%s  %s\n", s.demo.clock(), what)
}

func (s *screen) draw() {
	lines := s.demo.table()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.live {
		s.drawn = len(lines)
	}
	_, _ = fmt.Fprintln(s.out, strings.Join(lines, "\n"))
}

// wipe takes the last drawing away.
func (s *screen) wipe() {
	if s.drawn > 0 {
		_, _ = fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (d *demo) clock() string {
	e := time.Since(d.began).Round(time.Second)
	return fmt.Sprintf("%02d:%02d", int(e.Minutes()), int(e.Seconds())%60)
}

// table is the display: a line for each node, and one for each fleet. A plane that does not answer is no reason to end: its columns stay empty.
func (d *demo) table() []string {
	nodes, _ := d.Ask()
	// Not wider than a terminal, or lines would break and be wiped wrongly.
	lines := []string{fmt.Sprintf("  %-10s %-8s %8s %10s %7s %3s %8s %6s %7s", "node", "state", "revision", "generation", "reloads", "old", "requests", "failed", "applied")}
	for _, f := range d.fleets {
		stats := f.generator.Stats()
		for _, n := range f.nodes {
			said, sent := nodes[n.Node], stats.Targets[n.Node]
			lines = append(lines, fmt.Sprintf("  %-10s %-8s %8s %10s %7d %3d %8d %6d %7s", n.Node, state(said), mark(said.GetRevision()), mark(said.GetGeneration()),
				said.GetReloads()-min(said.GetReloads(), d.first[n.Node]), said.GetOldWorkers(), sent.Requests, sent.Failures, latency(said)))
		}
		if state, err := d.FleetState(f.name); err == nil {
			lines = append(lines, fmt.Sprintf("    %d backends, %d slots: %d ready, %d draining, %d free", state.GetBackends(), state.GetSlots(),
				state.GetSlotsReady(), state.GetSlotsDraining(), state.GetSlotsFree()))
		}
	}
	return lines
}

func state(n *adminv1.Node) string {
	if n == nil {
		return "?"
	}
	return strings.ToLower(strings.TrimPrefix(n.GetState().String(), "NODE_STATE_"))
}

func mark(m *adminv1.Mark) string { return fmt.Sprintf("%d.%d", m.GetEpoch(), m.GetNumber()) }

func latency(n *adminv1.Node) string {
	if n.GetLastLatency() == nil {
		return "-"
	}
	return n.GetLastLatency().AsDuration().Round(time.Millisecond).String()
}
