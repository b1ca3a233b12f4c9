package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
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

// Affinity says whether the requests of one client stay with one endpoint.
type Affinity string

// The affinities of this version.
const (
	AffinityNone   Affinity = "none"
	AffinityCookie Affinity = "cookie"
)

// StickyDrain says what becomes of the clients that stay with an endpoint that drains.
type StickyDrain string

// StickyKeep lets them stay until it is gone; StickyBreak sends their next request to another, as soon as one is ready.
const (
	StickyKeep  StickyDrain = "keep"
	StickyBreak StickyDrain = "break"
)

// Protocol is what is spoken to the endpoints.
type Protocol string

// The protocols of this version: HTTP/1.1 and HTTP/2, each in clear text and over TLS.
const (
	HTTP  Protocol = "http"
	H2C   Protocol = "h2c"
	HTTPS Protocol = "https"
	H2    Protocol = "h2"
)

// TLS says that the protocol is spoken over TLS.
func (p Protocol) TLS() bool { return p == HTTPS || p == H2 }

// Settings are the knobs of one backend. A zero field was not given: as overrides it leaves the fleet's value in force.
type Settings struct {
	Balance        Balance
	TimeoutConnect v1alpha1.Duration
	TimeoutServer  v1alpha1.Duration
	TimeoutQueue   v1alpha1.Duration
	Check          Check
	CheckInterval  v1alpha1.Duration
	SlotsMinimum   int
	Affinity       Affinity
	// CookieName is the name of the cookie of AffinityCookie; empty means that the backend's own is used.
	CookieName  string
	StickyDrain StickyDrain
	Protocol    Protocol
	// MaxConnections is the most requests that one node has under way at one endpoint; zero is no limit.
	MaxConnections int
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
		Affinity:       AffinityNone,
		StickyDrain:    StickyBreak,
		Protocol:       HTTP,
	}
}

// Under returns s with what it does not say taken from t. What belongs together is taken together: an affinity with its cookie and its way of draining, a check with its
// interval.
func (s Settings) Under(t Settings) Settings {
	s.Balance = cmp.Or(s.Balance, t.Balance)
	s.TimeoutConnect = cmp.Or(s.TimeoutConnect, t.TimeoutConnect)
	s.TimeoutServer = cmp.Or(s.TimeoutServer, t.TimeoutServer)
	s.TimeoutQueue = cmp.Or(s.TimeoutQueue, t.TimeoutQueue)
	if s.Check.Kind == "" {
		s.Check, s.CheckInterval = t.Check, cmp.Or(s.CheckInterval, t.CheckInterval)
	}
	s.SlotsMinimum = cmp.Or(s.SlotsMinimum, t.SlotsMinimum)
	if s.Affinity == "" {
		s.Affinity, s.CookieName, s.StickyDrain = t.Affinity, cmp.Or(s.CookieName, t.CookieName), cmp.Or(s.StickyDrain, t.StickyDrain)
	}
	s.Protocol = cmp.Or(s.Protocol, t.Protocol)
	s.MaxConnections = cmp.Or(s.MaxConnections, t.MaxConnections)
	return s
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
	if s.Affinity == defaults.Affinity {
		s.Affinity = ""
	}
	if s.StickyDrain == defaults.StickyDrain {
		s.StickyDrain = ""
	}
	if s.Affinity != AffinityCookie {
		s.CookieName, s.StickyDrain = "", ""
	}
	if s.Protocol == defaults.Protocol {
		s.Protocol = ""
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
	// What came later is written only where it was given: a backend keeps its name, and so its slots, over an upgrade.
	for _, field := range []struct{ name, value string }{
		{"affinity", string(s.Affinity)}, {"cookie", s.CookieName}, {"sticky", string(s.StickyDrain)}, {"protocol", string(s.Protocol)},
		{"connections", number(s.MaxConnections)},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, ",%s=%d:%s", field.name, len(field.value), field.value)
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "_" + hex.EncodeToString(sum[:4])
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Seated are those of a service port's endpoints that get a slot of a backend with these settings. A draining endpoint is in the set only while another takes
// traffic. Its slot would keep its sticky clients until the pod is gone, so unless that is asked for it has none: the slot is put into maintenance, which
// ends no request that is under way.
func (s Settings) Seated(set []slots.Endpoint) []slots.Endpoint {
	drains := func(e slots.Endpoint) bool { return e.State == snapshot.Drain }
	if s.Affinity != AffinityCookie || s.StickyDrain == StickyKeep || !slices.ContainsFunc(set, drains) {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), drains)
}
