package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Balance names how requests are spread over the endpoints.
type Balance string

// The balances of this version.
const (
	RoundRobin Balance = "roundrobin"
	LeastConn  Balance = "leastconn"
	Random     Balance = "random"
	Source     Balance = "source"
	URI        Balance = "uri"
)

// Check says how endpoints are checked beside what Kubernetes says of them.
type Check struct {
	// Kind is "" for a value that was not given, else CheckNone, CheckTCP or CheckHTTP.
	Kind string
	// Path is asked for by CheckHTTP.
	Path string
}

// The kinds of Check.
const (
	CheckNone = "none"
	CheckTCP  = "tcp"
	CheckHTTP = "http"
)

// Settings are the knobs of one backend. A zero field was not given: as overrides it leaves the fleet's value in force.
type Settings struct {
	Balance        Balance
	TimeoutConnect v1alpha1.Duration
	TimeoutServer  v1alpha1.Duration
	TimeoutQueue   v1alpha1.Duration
	Check          Check
	CheckInterval  v1alpha1.Duration
	SlotsMinimum   int
}

// DefaultQueue and DefaultCheckInterval are in no Fleet's spec.
const (
	DefaultQueue         = v1alpha1.Duration("5s")
	DefaultCheckInterval = v1alpha1.Duration("2s")
)

// FleetSettings are what the backends of a fleet have that is asked for nothing else. The spec must have its defaults filled in.
func FleetSettings(spec *v1alpha1.FleetSpec) Settings {
	return Settings{
		Balance:        RoundRobin,
		TimeoutConnect: spec.Timeouts.Connect,
		TimeoutServer:  spec.Timeouts.Server,
		TimeoutQueue:   DefaultQueue,
		Check:          Check{Kind: CheckNone},
		CheckInterval:  DefaultCheckInterval,
		SlotsMinimum:   int(*spec.Slots.Minimum),
	}
}

// Over returns what of s makes a difference to the defaults. Backends of one service port share a name exactly when this is the same for both, so a value
// that only repeats the default makes no backend of its own; times are compared by their length, not by how they are written.
func (s Settings) Over(defaults Settings) Settings {
	if s.Balance == defaults.Balance {
		s.Balance = ""
	}
	s.TimeoutConnect = differing(s.TimeoutConnect, defaults.TimeoutConnect)
	s.TimeoutServer = differing(s.TimeoutServer, defaults.TimeoutServer)
	s.TimeoutQueue = differing(s.TimeoutQueue, defaults.TimeoutQueue)
	if s.Check == defaults.Check {
		s.Check = Check{}
	}
	s.CheckInterval = differing(s.CheckInterval, defaults.CheckInterval)
	if s.Check.Kind == "" || s.Check.Kind == CheckNone {
		s.CheckInterval = ""
	}
	if s.SlotsMinimum == defaults.SlotsMinimum {
		s.SlotsMinimum = 0
	}
	return s
}

func differing(d, from v1alpha1.Duration) v1alpha1.Duration {
	if d == from || d == "" {
		return ""
	}
	a, errA := d.Parse()
	b, errB := from.Parse()
	if errA == nil && errB == nil && a == b {
		return ""
	}
	return d
}

// Suffix tells backends of one service port apart: empty where nothing differs from the defaults, else "_" and eight hexadecimal digits. It must be given
// what Over returned.
func (s Settings) Suffix() string {
	if s == (Settings{}) {
		return ""
	}
	var b strings.Builder
	for _, field := range []string{
		string(s.Balance), string(s.TimeoutConnect), string(s.TimeoutServer), string(s.TimeoutQueue),
		s.Check.Kind, s.Check.Path, string(s.CheckInterval),
	} {
		fmt.Fprintf(&b, "%d:%s,", len(field), field)
	}
	fmt.Fprintf(&b, "%d", s.SlotsMinimum)
	sum := sha256.Sum256([]byte(b.String()))
	return "_" + hex.EncodeToString(sum[:4])
}
