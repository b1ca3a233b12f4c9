package simnode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/tests/harness"
)

// A Group is nodes that run beside a test.
type Group struct {
	Nodes []*Node

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start runs nodes until the test ends.
func Start(t harness.T, count int, options func(i int) Options) *Group {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	g := &Group{cancel: cancel}
	for i := range count {
		n := New(options(i))
		g.Nodes = append(g.Nodes, n)
		g.running.Go(func() { n.Run(ctx) })
	}
	t.Cleanup(g.Stop)
	return g
}

// Stop ends the nodes' streams and waits for that.
func (g *Group) Stop() {
	g.cancel()
	g.running.Wait()
}

// Sum adds up what all nodes have seen.
func (g *Group) Sum() Counts {
	var sum Counts
	for _, n := range g.Nodes {
		c := n.Counts()
		sum.Streams += c.Streams
		sum.Waits += c.Waits
		sum.Updates += c.Updates
		sum.Everything += c.Everything
		sum.Bytes += c.Bytes
		sum.Asked += c.Asked
		sum.Positions += c.Positions
		sum.Confirmed += c.Confirmed
	}
	return sum
}

// WaitHeld waits until all nodes are connected and hold the content of the same marks, which it returns.
func (g *Group) WaitHeld(t harness.T, patience time.Duration) wire.Marks {
	t.Helper()
	harness.WaitForNil(t, patience, "all simulated nodes to hold the same", func() error {
		first := g.Nodes[0].Held()
		for _, n := range g.Nodes {
			if held := n.Held(); !n.Connected() || held.Generation.Version.IsZero() || !held.Same(first) {
				return fmt.Errorf("%s (connected: %t, last end: %w) holds %v, %s %v", n.Name(), n.Connected(), n.Ended(), held, g.Nodes[0].Name(), first)
			}
		}
		return nil
	})
	return g.Nodes[0].Held()
}

// Check fails the test for each violation.
func (g *Group) Check(t harness.T) {
	t.Helper()
	for _, n := range g.Nodes {
		for _, v := range n.Violations() {
			t.Errorf("%s", v)
		}
	}
}
