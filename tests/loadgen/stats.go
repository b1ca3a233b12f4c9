package loadgen

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind says how a request failed.
type Kind string

// The kinds of failure.
const (
	Connect     Kind = "connect"     // no connection
	Race        Kind = "race"        // a reused connection was closed under the request, before any answer
	Cut         Kind = "cut"         // the connection ended before the answer did
	Timeout     Kind = "timeout"     // no whole answer in time
	Status      Kind = "status"      // another status than the route's
	Stranger    Kind = "stranger"    // another service answered, or nobody who names himself
	Body        Kind = "body"        // the pod saw another body than the one that was sent
	Unsolicited Kind = "unsolicited" // the proxy sent something that nobody asked for
)

// A Failure is one failed request.
type Failure struct {
	Time      time.Time
	Kind      Kind
	Profile   string
	Target    string
	Request   string // method and URL
	What      string
	Status    int
	Pod       string
	LocalPort int           // of the connection, to find it in HAProxy's log
	Reused    int           // requests that the connection had carried before
	Age       time.Duration // of the connection
}

func (f Failure) String() string {
	return fmt.Sprintf("%s %s: %s through %s (%s), port %d, request %d of a connection %v old: %s",
		f.Time.Format("15:04:05.000"), f.Kind, f.Request, f.Target, f.Profile, f.LocalPort, f.Reused+1, f.Age.Round(time.Millisecond), f.What)
}

// Count counts requests and the failed ones among them.
type Count struct{ Requests, Failures int64 }

// Stats are a generator's counts at one moment.
type Stats struct {
	Seed     uint64
	Elapsed  time.Duration
	Requests int64
	Failures int64
	Races    int64 // the failures of the kind Race
	Reopened int64 // connections that closed while idle
	Aged     int64 // connections that were given up because they had been idle for too long
	Profiles map[string]Count
	Targets  map[string]Count
	Kinds    map[Kind]int64
	Statuses map[int]int64
	Pods     map[string]int64 // answers by pod
	P50      time.Duration
	P99      time.Duration
	Max      time.Duration
	Samples  []Failure // the first failures
}

// String is a report of a few lines, with the seed and the first failures.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, %d failures (%d races), %d connections closed while idle, p50 %v p99 %v max %v, in %v, seed %d\n",
		s.Requests, s.Failures, s.Races, s.Reopened, s.P50.Round(10*time.Microsecond), s.P99.Round(10*time.Microsecond),
		s.Max.Round(10*time.Microsecond), s.Elapsed.Round(time.Millisecond), s.Seed)
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		fmt.Fprintf(&b, "  %-16s %8d requests, %d failures\n", name, s.Profiles[name].Requests, s.Profiles[name].Failures)
	}
	for i, f := range s.Samples {
		if i == 10 {
			fmt.Fprintf(&b, "  …\n")
			break
		}
		fmt.Fprintf(&b, "  %v\n", f)
	}
	return b.String()
}

const maxSamples = 100

// A recorder is the counts that grow.
type recorder struct {
	mu       sync.Mutex // guards everything
	start    time.Time
	stats    Stats // without Requests, quantiles and the like, which are derived
	hist     histogram
	maximum  time.Duration
	finished time.Time
}

func newRecorder(seed uint64) *recorder {
	return &recorder{stats: Stats{
		Seed:     seed,
		Profiles: map[string]Count{},
		Targets:  map[string]Count{},
		Kinds:    map[Kind]int64{},
		Statuses: map[int]int64{},
		Pods:     map[string]int64{},
	}}
}

// outcome is one finished request. A failure's Kind is empty when it went well.
type outcome struct {
	Failure
	took time.Duration
}

func (r *recorder) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := o.Kind != ""
	bump(r.stats.Profiles, o.Profile, failed)
	bump(r.stats.Targets, o.Target, failed)
	r.stats.Requests++
	if o.Status != 0 {
		r.stats.Statuses[o.Status]++
		r.hist.add(o.took)
		r.maximum = max(r.maximum, o.took)
	}
	if o.Pod != "" {
		r.stats.Pods[o.Pod]++
	}
	if !failed {
		return
	}
	r.stats.Failures++
	r.stats.Kinds[o.Kind]++
	if len(r.stats.Samples) < maxSamples {
		r.stats.Samples = append(r.stats.Samples, o.Failure)
	}
}

func bump(counts map[string]Count, name string, failed bool) {
	c := counts[name]
	c.Requests++
	if failed {
		c.Failures++
	}
	counts[name] = c
}

func (r *recorder) reopened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Reopened++
}

func (r *recorder) aged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Aged++
}

func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = time.Now()
}

func (r *recorder) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = time.Now()
}

func (r *recorder) snapshot() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Profiles, s.Targets, s.Kinds = maps.Clone(s.Profiles), maps.Clone(s.Targets), maps.Clone(s.Kinds)
	s.Statuses, s.Pods, s.Samples = maps.Clone(s.Statuses), maps.Clone(s.Pods), slices.Clone(s.Samples)
	s.Races = s.Kinds[Race]
	s.P50, s.P99, s.Max = r.hist.quantile(0.50), r.hist.quantile(0.99), r.maximum
	switch {
	case r.start.IsZero():
	case r.finished.IsZero():
		s.Elapsed = time.Since(r.start)
	default:
		s.Elapsed = r.finished.Sub(r.start)
	}
	return s
}

// A histogram counts durations in buckets that are 6 % wide: 16 for each power of two of microseconds.
type histogram struct {
	buckets [40 * 16]int64
	total   int64
}

func (h *histogram) add(d time.Duration) {
	us := uint64(max(d.Microseconds(), 0))
	i := us // below 16 µs each has a bucket
	if us >= 16 {
		shift := bits.Len64(us) - 5
		i = uint64(shift)*16 + us>>shift
	}
	h.buckets[min(i, uint64(len(h.buckets)-1))]++
	h.total++
}

// quantile returns the lower end of the bucket in which the quantile lies.
func (h *histogram) quantile(q float64) time.Duration {
	left := int64(q * float64(h.total))
	for i, n := range h.buckets {
		if left -= n; left < 0 {
			if i < 32 {
				return time.Duration(i) * time.Microsecond
			}
			shift := i/16 - 1
			return time.Duration(uint64(i-shift*16)<<shift) * time.Microsecond
		}
	}
	return 0
}
