// Package metrics is what Prometheus is told of the plane. The histogram of applied changes is filled as nodes report; all else is read from the
// plane's state when it is scraped, so that a plane that nobody scrapes does no work for it. There is no series for a slot or a node.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/guard"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Config is what is read at a scrape.
type Config struct {
	Store    *store.Store
	Compiler *compile.Compiler
	Fleets   *changelog.Directory
	Nodes    *node.Registry
	Guard    *guard.Guard
}

// Metrics are the plane's own. It is a prometheus.Collector.
type Metrics struct {
	config  Config
	applied *prometheus.HistogramVec
	lag     prometheus.Histogram
	// conflicts are tables that nodes have told differently under one version when their positions were adopted.
	conflicts prometheus.Counter

	nodes, generation, slots, synced, stale, held, objects *prometheus.Desc
}

var _ prometheus.Collector = (*Metrics)(nil)

// New gives metrics that read from these.
func New(c Config) *Metrics {
	return &Metrics{
		config: c,
		applied: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "berth_change_applied_seconds",
			Help:    "From the moment that a source saw a change to a node's word that its worker has it, by the plane's clock.",
			Buckets: []float64{.002, .005, .01, .02, .035, .05, .075, .1, .15, .25, .5, 1, 2, 5, 10, 30, 60},
		}, []string{"by"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "berth_node_lag_generations",
			Help:    "How many generations connected nodes are behind, each looked at once in every scrape.",
			Buckets: []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 512, 4096},
		}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_adoption_conflicts_total",
			Help: "Slot tables that nodes told differently under the same version when a plane that had started with nothing adopted their positions.",
		}),
		nodes:      describe("berth_nodes", "Nodes by state.", "state"),
		generation: describe("berth_generation", "Number of the fleet's newest generation.", "fleet"),
		slots:      describe("berth_slots", "Slots of all fleets by state.", "state"),
		synced:     describe("berth_source_synced", "1 when the source has been read in full since the plane started.", "source"),
		stale:      describe("berth_source_stale_seconds", "For how long the source could not be read in full; 0 when it can.", "source"),
		held:       describe("berth_guard_held_objects", "Objects that vanished from the source in one step and whose removal is held back.", "source"),
		objects:    describe("berth_objects", "Objects that are read, by state; rejected are also those that a source could not take.", "state"),
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Applied counts a change that a node has applied.
func (m *Metrics) Applied(by fleetv1.By, latency time.Duration) {
	label := "runtime"
	if by == fleetv1.By_BY_RELOAD {
		label = "reload"
	}
	m.applied.WithLabelValues(label).Observe(latency.Seconds())
}

// Conflicts counts slot tables that nodes have told differently under one version.
func (m *Metrics) Conflicts(tables int) { m.conflicts.Add(float64(tables)) }

// Describe is of prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.nodes, m.generation, m.slots, m.synced, m.stale, m.held, m.objects} {
		out <- d
	}
	m.applied.Describe(out)
	m.lag.Describe(out)
	m.conflicts.Describe(out)
}

// Collect is of prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
	}
	m.collectFleets(gauge)
	m.collectSources(gauge)
	m.lag.Collect(out)
	m.conflicts.Collect(out)
	m.applied.Collect(out)
}

// stateNames has every state, so that a series is there before a node is in it.
var stateNames = map[node.State]string{
	node.Current: "current", node.Behind: "behind", node.Rejected: "rejected", node.Failed: "failed",
	node.Waiting: "waiting", node.Disconnected: "disconnected",
}

func (m *Metrics) collectFleets(gauge func(*prometheus.Desc, float64, string)) {
	var slots [3]int
	heads := map[string]*changelog.Head{}
	for name, f := range m.config.Fleets.Fleets().All() {
		head := f.Log.Head()
		heads[name] = head
		gauge(m.generation, float64(head.Generation.Version.Number), name)
		for t := range head.Generation.All() {
			for _, s := range t.Slots {
				slots[s.State]++
			}
		}
	}
	for _, state := range []snapshot.SlotState{snapshot.Free, snapshot.Ready, snapshot.Drain} {
		gauge(m.slots, float64(slots[state]), state.String())
	}
	nodes := map[node.State]int{}
	for _, v := range m.config.Nodes.List("") {
		head := heads[v.Fleet]
		if head == nil {
			head = &changelog.Head{Revision: snapshot.EmptyRevision(), Generation: snapshot.EmptyGeneration()}
		}
		nodes[v.State(head.Marks())]++
		if v.Connected {
			m.lag.Observe(float64(v.Lag(head.Marks().Generation)))
		}
	}
	for state, name := range stateNames {
		gauge(m.nodes, float64(nodes[state]), name)
	}
}

func (m *Metrics) collectSources(gauge func(*prometheus.Desc, float64, string)) {
	objects := 0
	for src := range m.config.Store.Read().Sources() {
		for _, n := range src.Rows {
			objects += n
		}
		synced, stale := 0.0, 0.0
		if src.Synced {
			synced = 1
		}
		if !src.StaleSince.IsZero() {
			stale = time.Since(src.StaleSince).Seconds()
		}
		gauge(m.synced, synced, src.Name)
		gauge(m.stale, stale, src.Name)
		held, _ := m.config.Guard.Held(src.Name)
		gauge(m.held, float64(held.Objects), src.Name)
	}
	// Fleets show the same object each; it counts once, as the worst that it is.
	type object struct{ name, cluster string }
	problems := map[object]desired.State{}
	for name := range m.config.Fleets.Fleets().All() {
		for _, p := range m.config.Compiler.Problems(name) {
			o := object{p.Object, p.Cluster}
			problems[o] = max(problems[o], p.State)
		}
	}
	counts := map[desired.State]int{}
	for _, state := range problems {
		counts[state]++
	}
	gauge(m.objects, float64(counts[desired.Rejected]), "rejected")
	gauge(m.objects, float64(counts[desired.Warned]), "warned")
	gauge(m.objects, float64(max(objects-len(problems), 0)), "accepted")
}
