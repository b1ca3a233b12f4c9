package plan_test

import (
	"fmt"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

func limited() *snapshot.Revision {
	return revision(
		&snapshot.Section{Type: "global", Lines: []snapshot.Line{{"maxsessrate", "50"}}},
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{{"mode", "http"}}},
		&snapshot.Section{Type: "defaults", Name: "few", Lines: []snapshot.Line{{"maxconn", "20"}}},
		&snapshot.Section{Type: "frontend", Name: "web from berth"},
		&snapshot.Section{Type: "frontend", Name: "slow from few"},
		&snapshot.Section{Type: "frontend", Name: "own from few", Lines: []snapshot.Line{{"maxconn", "30"}}},
	)
}

// PLAN-6: what a worker that was left alone shows needs nothing, and each thing that somebody changes is taken back by one command, or by a new worker.
func TestPLAN6_Intake(t *testing.T) {
	rev := limited()
	started := func() plan.Intake {
		return plan.Intake{MaxConn: 1000, HardMaxConn: 1000, SessRate: 50, Frontends: map[string]plan.Frontend{"web": {Limit: 1000}, "slow": {Limit: 20}, "own": {Limit: 30}}}
	}
	for name, c := range map[string]struct {
		change func(*plan.Intake)
		want   string
	}{
		"nothing":  {func(*plan.Intake) {}, "[]"},
		"disabled": {func(i *plan.Intake) { i.Frontends["web"] = plan.Frontend{State: plan.Paused, Limit: 1000} }, "[enable frontend web]"},
		"shut down, which also needs no limit": {
			func(i *plan.Intake) { i.Frontends["web"] = plan.Frontend{State: plan.Stopped} }, "[]",
		},
		"gone":               {func(i *plan.Intake) { delete(i.Frontends, "own") }, "[]"},
		"limited to nothing": {func(i *plan.Intake) { i.Frontends["web"] = plan.Frontend{} }, "[set maxconn frontend web 1000]"},
		"another limit":      {func(i *plan.Intake) { i.Frontends["slow"] = plan.Frontend{Limit: 30} }, "[set maxconn frontend slow 20]"},
		"the whole worker":   {func(i *plan.Intake) { i.MaxConn = 3 }, "[set maxconn global 0]"},
		"rates": {
			func(i *plan.Intake) { i.ConnRate, i.SessRate, i.SSLRate = 1, 0, 2 },
			"[set rate-limit connections global 0 set rate-limit sessions global 50 set rate-limit ssl-sessions global 0]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := started()
			c.change(&i)
			var commands []string
			reload := 0
			for _, a := range i.Amend(rev) {
				if a.Command == "" {
					reload++
					continue
				}
				commands = append(commands, a.Command)
			}
			if got := fmt.Sprint(commands); got != c.want {
				t.Errorf("commands %s, want %s", got, c.want)
			}
			if gone := len(i.Frontends) < 3 || i.Frontends["web"].State == plan.Stopped; gone != (reload == 1) {
				t.Errorf("%d things need a new worker", reload)
			}
		})
	}
	if got := plan.Frontends(rev); len(got) != 3 {
		t.Errorf("frontends %v", got)
	}
}

func TestPLAN6_Health(t *testing.T) {
	plain, checked := &snapshot.Backend{Name: "b"}, &snapshot.Backend{Name: "b", ServerOptions: []string{"check", "inter", "2s", "maxconn", "5"}}
	for name, c := range map[string]struct {
		backend *snapshot.Backend
		h       plan.Health
		want    string
	}{
		"nothing":                      {plain, plan.Health{}, "[]"},
		"nothing of a checked one":     {checked, plan.Health{Limit: 5}, "[]"},
		"a failed check is no meddler": {checked, plan.Health{Limit: 5, Stopped: true}, "[]"},
		"told to be unhealthy":         {plain, plan.Health{Stopped: true}, "[set server b/s1 health up]"},
		"its check is switched off":    {checked, plan.Health{Limit: 5, Unchecked: true}, "[enable health b/s1]"},
		"limits":                       {plain, plan.Health{Limit: 1}, "[set maxconn server b/s1 0]"},
		"other limits":                 {checked, plan.Health{Limit: 1}, "[set maxconn server b/s1 5]"},
	} {
		t.Run(name, func(t *testing.T) {
			c.h.Backend, c.h.Server = "b", "s1"
			var commands []string
			for _, a := range c.h.Amend(c.backend) {
				commands = append(commands, a.Command)
			}
			if got := fmt.Sprint(commands); got != c.want {
				t.Errorf("commands %s, want %s", got, c.want)
			}
		})
	}
}
