package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/link"
)

// Options says what a run is.
type Options struct {
	Seed   uint64
	Length time.Duration
	// Keep is a folder for the logs and files of a run in which something was found; nothing is kept when it is empty.
	Keep string
}

// nodesEach is how many nodes there are with each of the two HAProxies.
const nodesEach = 2

// refusedWord is what the nodes' HAProxies do not take in a configuration that they check.
const refusedWord = "timeout server 66s"

// A Run is everything that is there while faults happen.
type Run struct {
	*rig.Rig
	options Options
	t       harness.T
	begun   time.Time
	west    *cluster.Cluster
	// westPath is where the plane finds the second source: a link to where the cluster writes.
	westPath string
	nodes    []*node
	yards    []*yard
	churn    *churn
	account  *account
	watch    *watch
	table    *table
	calm     calm

	running sync.WaitGroup
	stop    context.CancelFunc

	mu sync.Mutex // guards what follows
	on map[int]Fault
	// found are the violations so far.
	found []string
}

// A node is a node of the rig with its network and its load.
type node struct {
	*rig.Node
	number int // from 1
	link   *link.Link
	yard   *yard
	load   *load
	secure *load
	small  string // the disk that its state directory is on, if that can be filled
}

// New starts everything and returns when every node serves. Disks is a folder on which a small disk can be mounted, empty if none can be.
func New(t harness.T, o Options, disks string) *Run {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &Run{options: o, t: t, begun: time.Now(), stop: stop, on: map[int]Fault{}, table: newTable()}
	dir := t.TempDir()
	west := filepath.Join(dir, "west")
	if err := os.Mkdir(west, 0o700); err != nil {
		t.Fatalf("make the second source: %v", err)
	}
	r.westPath = filepath.Join(dir, "source")
	if err := os.Symlink(west, r.westPath); err != nil {
		t.Fatalf("make the second source: %v", err)
	}
	r.west = cluster.New(cluster.Options{Dir: west})
	t.Cleanup(func() {
		if err := r.west.Close(); err != nil {
			t.Errorf("end the pods of the second source: %v", err)
		}
	})
	old, newest := harness.OldHAProxy(t), harness.NewHAProxy(t)
	fussyOld, fussyNewest := rig.Fussy(t, old, refusedWord), rig.Fussy(t, newest, refusedWord)
	r.Rig = rig.New(t, rig.Options{
		Sources: []string{"west=dir:" + r.westPath},
		Fleets: []rig.Fleet{
			{Name: fleet, HAProxy: fussyOld, Nodes: nodesEach}, {Name: fleet, HAProxy: fussyNewest, Nodes: nodesEach},
		},
		Agent: func(o *harness.AgentOptions) {
			n := &node{number: len(r.nodes) + 1, link: link.New(t, o.Planes[0])}
			// Half a minute is the least that is asked of an agent alone with its HAProxy; SOAK-4 is sooner.
			o.Planes, o.Flags = []string{n.link.Address()}, append(o.Flags, "--verify-every", "2s")
			if n.number == 1 && disks != "" {
				n.small = disks
				o.StateDir = filepath.Join(disks, "state")
			}
			r.nodes = append(r.nodes, n)
		},
	})
	for i, n := range r.nodes {
		n.Node = r.Nodes[i]
	}
	r.account = newAccount(len(r.nodes))
	r.churn = newChurn(r, o.Seed)
	r.startYards(old, newest)
	r.WaitServed("web")
	r.WaitCurrent()
	r.watch = newWatch(r)
	r.startLoad(ctx)
	r.churn.start(ctx)
	r.watch.start(ctx)
	return r
}

// fleet is the only one.
const fleet = "default"

// Play goes through a plan, one round at the least, until the time is over, or until something was found, to the end of the round.
func (r *Run) Play(rounds []Round) {
	r.t.Helper()
	r.becalm(time.Now(), Round{}) // the first calm is what the others are compared with
	for i, round := range rounds {
		if i > 0 && time.Since(r.begun) > r.options.Length { // a run without a fault, as all of its time went into the start, would prove nothing
			break
		}
		r.say("round %d", i+1)
		r.becalm(r.storm(round), round)
		if n := len(r.violations()); n > 0 {
			r.say("%d things were found; this run ends with round %d", n, i+1)
			break
		}
	}
	r.end()
}

// say writes a line with the time since the begin.
func (r *Run) say(format string, args ...any) {
	r.t.Logf("%7.2f s  %s", time.Since(r.begun).Seconds(), fmt.Sprintf(format, args...))
}

// violated notes that an invariant does not hold, with the faults that are on.
func (r *Run) violated(invariant string, since time.Time, format string, args ...any) {
	r.mu.Lock()
	on := make([]string, 0, len(r.on))
	for _, f := range r.on {
		on = append(on, f.String())
	}
	what := fmt.Sprintf("%s, since %s (%.2f s): %s; faults on: %v", invariant, since.Format("15:04:05.000"), since.Sub(r.begun).Seconds(), fmt.Sprintf(format, args...), on)
	r.found = append(r.found, what)
	n := len(r.found)
	r.mu.Unlock()
	if n <= maxFound {
		r.t.Errorf("%s", what)
	}
}

// maxFound bounds what is told one by one.
const maxFound = 20

func (r *Run) violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.found...)
}

// end stops the load and everything else, and looks at what is left.
func (r *Run) end() {
	r.t.Helper()
	r.endLoad()
	r.stop()
	r.running.Wait()
	r.account.judge(r)
	r.leftOver()
	r.t.Logf("%s", r.table)
	r.t.Logf("%s", r.account)
	r.t.Logf("%s", r.watch)
	if r.t.Failed() {
		r.keep()
	}
}
