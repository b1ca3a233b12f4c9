package loadgen

import (
	"fmt"
	"net/http"
	"time"
)

// A Target is a proxy that requests go through.
type Target struct {
	Name    string
	Address string // host:port
	TLS     bool   // certificates are not verified: tests use self-signed ones
}

// A Route is a request that can be sent and the answer that it must get.
type Route struct {
	Host    string
	Path    string // "/" when empty
	Service string // what the answer's X-Service must be; empty: no pod may have answered
	Status  int    // 200 when zero
}

// A Profile is a way to use connections.
type Profile struct {
	Name          string
	Method        string // GET when empty; a POST has a random body that cannot be replayed
	NewConnection bool   // a connection for each request
	HTTP2         bool   // by prior knowledge without TLS, by ALPN with it
	Streams       int    // requests side by side on one HTTP/2 connection; 1 when zero
	MinGap        time.Duration
	MaxGap        time.Duration // a random time between MinGap and MaxGap passes between requests
	MaxIdle       time.Duration // a connection that was idle for longer is not used again; zero: it is, unless it closed
	Slow          time.Duration // asks the pod to take so long, by the path /slow?d=
}

// The profiles of the promise "no request fails". HAProxy closes idle connections after 5 s (timeout http-keep-alive),
// so one kind of idle client stays below that and the other just above.
var (
	NewConnections = Profile{Name: "new-connections", NewConnection: true, MaxGap: 40 * time.Millisecond}
	KeepAlive      = Profile{Name: "keep-alive", MaxGap: 20 * time.Millisecond, MaxIdle: maxIdle}
	IdleShort      = Profile{Name: "idle-short", MinGap: 500 * time.Millisecond, MaxGap: 4500 * time.Millisecond, MaxIdle: maxIdle}
	IdleLong       = Profile{Name: "idle-long", MinGap: 5500 * time.Millisecond, MaxGap: 6 * time.Second}
	Post           = Profile{Name: "post", Method: http.MethodPost, MaxGap: 20 * time.Millisecond, MaxIdle: maxIdle}
	HTTP2          = Profile{Name: "http2", HTTP2: true, Streams: 4, MaxGap: 40 * time.Millisecond, MaxIdle: maxIdle}
	Slow           = Profile{Name: "slow", Slow: 2 * time.Second, MaxIdle: maxIdle}
)

// maxIdle keeps a client on a busy machine, whose gap of 4.5 s became one of 5, from meeting HAProxy's own timeout: any
// client that reuses connections has to give them up before its server does.
const maxIdle = 4800 * time.Millisecond

// A Load is a number of clients that behave alike.
type Load struct {
	Profile
	Clients int // connections at each target
}

// Mix is the whole promise: every profile but Slow, clients times each busy one and more idle ones, for they send little.
func Mix(clients int) []Load {
	return []Load{
		{NewConnections, clients}, {KeepAlive, clients}, {IdleShort, 8 * clients}, {IdleLong, 8 * clients},
		{Post, clients}, {HTTP2, clients},
	}
}

// Config is all that a generator needs.
type Config struct {
	Targets []Target
	Routes  []Route
	Loads   []Load
	Rate    float64       // requests a second over all targets; zero: as the gaps allow
	Timeout time.Duration // for one request; 10 s when zero
	Seed    uint64        // zero: by the time; Stats tells it
	// Failed, if it is set, is told each failure when it is known. It is called by many goroutines.
	Failed func(Failure)
}

func (c *Config) validate() error {
	if len(c.Targets) == 0 || len(c.Loads) == 0 {
		return fmt.Errorf("a load generator needs a target and a load, got %d and %d", len(c.Targets), len(c.Loads))
	}
	for _, l := range c.Loads {
		if l.Clients < 1 || l.MaxGap < l.MinGap && l.MaxGap != 0 || l.Streams > 1 && !l.HTTP2 || l.HTTP2 && l.NewConnection {
			return fmt.Errorf("load %q makes no sense: %+v", l.Name, l)
		}
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	return nil
}
