package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// Metrics are the agent's own. None of them has a series for each slot or backend.
type Metrics struct {
	reloads  *prometheus.CounterVec
	drifts   prometheus.Counter
	restarts prometheus.Counter
	old      prometheus.Gauge
	window   prometheus.Histogram
	turns    prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_agent_reloads_total", Help: "Reloads and starts of HAProxy, by what the running worker could not take.",
		}, []string{"reason"}),
		drifts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_drift_total", Help: "Backends that were found changed by somebody else, and repaired.",
		}),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_worker_restarts_total", Help: "Workers that were replaced without this agent's doing.",
		}),
		old: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_agent_old_workers", Help: "Leaving workers that still finish what they have.",
		}),
		window: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "berth_agent_reapplied_seconds",
			Help:    "Time from meeting a new worker to its slots being those that changed during the reload.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
		}),
		turns: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_turns_total", Help: "Turns of the agent's loop: a few each second when nothing happens.",
		}),
	}
	r.MustRegister(m.reloads, m.drifts, m.restarts, m.old, m.window, m.turns)
	return m
}

func (m *Metrics) reload(r plan.Reason)      { m.reloads.WithLabelValues(r.String()).Inc() }
func (m *Metrics) drift(n int)               { m.drifts.Add(float64(n)) }
func (m *Metrics) turn()                     { m.turns.Inc() }
func (m *Metrics) restart()                  { m.restarts.Inc() }
func (m *Metrics) oldWorkers(n int)          { m.old.Set(float64(n)) }
func (m *Metrics) reapplied(d time.Duration) { m.window.Observe(d.Seconds()) }
