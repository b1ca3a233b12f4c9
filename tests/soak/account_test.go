package soak

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/loadgen"
)

// SOAK-1: who answers for a failed request.
func TestSOAK1Account(t *testing.T) {
	start := time.Now()
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	type request struct {
		where       int
		begun, told float64
		kind        loadgen.Kind
	}
	// Places 0 and 1 are nodes, 2 is a yardstick. Node 0 is dead from 10 to 12, the yardstick from 10 to 11; node 1 is frozen from 30 to 31.
	tests := []struct {
		name     string
		requests []request
		open     int
	}{
		{"while HAProxy is dead", []request{{0, 10.5, 10.5, loadgen.Connect}}, 0},
		{"killed with it", []request{{0, 8, 10.1, loadgen.Cut}}, 0},
		{"begun before it served again", []request{{0, 11.9, 13, loadgen.Cut}}, 0},
		{"before", []request{{0, 9, 9.5, loadgen.Cut}}, 1},
		{"after", []request{{0, 12.1, 12.2, loadgen.Connect}}, 1},
		{"at another node", []request{{1, 10.5, 10.6, loadgen.Connect}}, 1},
		{"a race while the worker is frozen", []request{{1, 30.5, 31.1, loadgen.Race}}, 0},
		{"anything else while the worker is frozen", []request{{1, 30.5, 31.1, loadgen.Status}}, 1},
		{"as the yardstick, which is dead", []request{{1, 10.5, 10.6, loadgen.Connect}, {2, 10.5, 10.6, loadgen.Connect}}, 1},
		{"as the yardstick, which lives", []request{{1, 20, 20.1, loadgen.Status}, {2, 20.8, 20.9, loadgen.Status}}, 0},
		{"in another way than the yardstick", []request{{1, 20, 20.1, loadgen.Status}, {2, 20, 20.1, loadgen.Connect}}, 1},
		{"long after the yardstick", []request{{1, 23, 23.1, loadgen.Status}, {2, 20, 20.1, loadgen.Status}}, 1},
		{"many more than the yardstick", append(slices.Repeat([]request{{1, 20, 20.1, loadgen.Status}}, alike+3), request{2, 20, 20.1, loadgen.Status}), 3},
		{"of the yardstick alone", []request{{2, 20, 20.1, loadgen.Status}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAccount(2)
			a.windows = []*window{
				{where: 0, fault: "killed", begin: at(10), end: at(12)}, {where: 2, fault: "killed", begin: at(10), end: at(11)},
				{where: 1, fault: "frozen", begin: at(30), end: at(31), only: loadgen.Race},
			}
			for _, r := range tt.requests {
				a.failed(r.where, loadgen.Failure{Time: at(r.begun), Kind: r.kind}, at(r.told))
			}
			if open := a.settle(); len(open) != tt.open {
				t.Errorf("nobody answers for %v, want %d", open, tt.open)
			}
		})
	}
}
