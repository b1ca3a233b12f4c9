package worker

import (
	"context"
	"fmt"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// Intake asks the worker how much traffic it lets in, and returns where that is not what its revision says. haproxy.ErrStopping says that it is leaving. It costs a look
// at each frontend, whatever else there is.
func (w *Worker) Intake(ctx context.Context, rev *snapshot.Revision) ([]plan.Amendment, error) {
	names := plan.Frontends(rev)
	info, stats, err := w.conn.InfoAndStats(ctx, haproxy.StatFrontend, names...)
	if err == nil && info.Stopping {
		err = haproxy.ErrStopping
	}
	if err != nil {
		return nil, fmt.Errorf("ask worker %d what it lets in: %w", w.Process.PID, err)
	}
	i := plan.Intake{
		Frontends: make(map[string]plan.Frontend, len(names)), MaxConn: info.MaxConn, HardMaxConn: info.HardMaxConn,
		ConnRate: info.ConnRate, SessRate: info.SessRate, SSLRate: info.SSLRate,
	}
	for _, s := range stats {
		f := plan.Frontend{Limit: s.Limit}
		switch s.Status {
		case "STOP":
			f.State = plan.Stopped
		case "PAUSED":
			f.State = plan.Paused
		}
		i.Frontends[s.Proxy] = f
	}
	return i.Amend(rev), nil
}

// Health asks the worker for what else than slots keeps its servers and backends from traffic. servers are what it has just answered.
func (w *Worker) Health(ctx context.Context, rev *snapshot.Revision, servers []haproxy.Server) ([]plan.Amendment, error) {
	stats, err := w.conn.Stats(ctx, haproxy.StatBackend|haproxy.StatServer)
	if err != nil {
		return nil, fmt.Errorf("ask worker %d for its servers' limits: %w", w.Process.PID, err)
	}
	var out []plan.Amendment
	limits := make(map[[2]string]int, len(servers))
	for _, s := range stats {
		limits[[2]string{s.Proxy, s.Name}] = s.Limit
		if s.Unpublished() && rev.Backend(s.Proxy) != nil {
			out = append(out, plan.Publish(s.Proxy))
		}
	}
	for _, s := range servers {
		b := rev.Backend(s.Backend)
		if _, ours := render.ServerIndex(s.Name); b == nil || !ours {
			continue
		}
		limit, told := limits[[2]string{s.Backend, s.Name}]
		if !told {
			continue // it was added or removed in between
		}
		stopped := !s.Maint && !s.Drain && (s.Op == haproxy.OpStopped || s.Op == haproxy.OpStopping)
		out = append(out, plan.Health{Backend: s.Backend, Server: s.Name, Stopped: stopped, Unchecked: s.Unchecked && !s.Maint, Limit: limit}.Amend(b)...)
	}
	return out, nil
}

// Amend takes back what somebody has changed, where the running worker can, and returns what needs a new worker.
func (w *Worker) Amend(ctx context.Context, amendments []plan.Amendment) (left []plan.Amendment, err error) {
	var lines []string
	var sent []plan.Amendment
	for _, a := range amendments {
		if a.Command == "" {
			left = append(left, a)
			continue
		}
		lines, sent = append(lines, a.Command), append(sent, a)
	}
	replies, err := w.conn.Do(ctx, lines)
	if err != nil {
		return nil, fmt.Errorf("take back %d changes of worker %d: %w", len(lines), w.Process.PID, err)
	}
	for i, r := range replies {
		if r.Err != nil {
			left = append(left, sent[i])
		}
	}
	return left, nil
}
