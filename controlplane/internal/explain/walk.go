package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
)

// The maps, and what stands in them.
const (
	// Choice stands before the maps whose entries lead to it: a worker is told changes in the order of the maps' names.
	Choice   = "choice"
	Hosts    = "hosts"
	Exact    = "exact"
	Prefix   = "prefix"
	Redirect = "redirect"
	Fallback = "fallback"

	// AnyHost is the owner of requests whose host nobody names.
	AnyHost = "-"
	// FallbackKey is the one key of the map Fallback.
	FallbackKey = "default"
	// Unavailable is the backend that answers 503.
	Unavailable = "berth_unavailable"
	// SplitPrefix begins what is no backend's name and stands for several that share the requests; each request is dealt one of so many Parts.
	SplitPrefix = "split."
	Parts       = 100
)

// ChoiceKey is the key of one part of a split in the map Choice.
func ChoiceKey(split string, part int) string { return split + "/" + strconv.Itoa(part) }

// Share is a backend with the parts that it has of a request's chances.
type Share struct {
	Backend string
	Parts   int
}

// Entry makes the entry of a key that snapshot.EntryKey made.
func Entry(key snapshot.Key, value string) *snapshot.MapEntry {
	mapName, name, _ := strings.Cut(key.Name, "\x00")
	return &snapshot.MapEntry{Map: mapName, Name: name, Value: value}
}

// Request is what matters of a request on its way to a backend.
type Request struct {
	TLS bool
	// Host is the Host header, Target the path with the query.
	Host, Target string
}

// Outcome is what HAProxy does with a request.
type Outcome uint8

// The outcomes.
const (
	// ToBackend: it is sent to a slot of the backend.
	ToBackend Outcome = iota + 1
	// Redirected: the client is sent to the location.
	Redirected
	// Answered: HAProxy itself answers with the status.
	Answered
)

func (o Outcome) String() string {
	switch o {
	case ToBackend:
		return "backend"
	case Redirected:
		return "redirect"
	case Answered:
		return "status"
	default:
		return "unknown"
	}
}

// Answer tells a request's way.
type Answer struct {
	Outcome Outcome
	// Status is what HAProxy answers itself, or 0.
	Status   int
	Location string
	// Host is the request's in the form in which it is looked up; Owner is the entry of the map Hosts that it belongs to, or AnyHost.
	Host, Owner string
	// Map is the one in which the path was found (Exact, Prefix or Fallback), Path the entry's.
	Map, Path string
	// Backend is where that entry leads. Where several share the requests it is the one with the most parts, and Shares has all.
	Backend string
	Shares  []Share
	Steps   []string
}

func (a *Answer) step(format string, args ...any) {
	a.Steps = append(a.Steps, fmt.Sprintf(format, args...))
}

// Walk follows a request.
func Walk(rev *snapshot.Revision, req Request) Answer {
	a := Answer{Outcome: Answered, Host: hostOnly(req.Host)}
	a.findOwner(rev)
	if a.redirected(rev, req) {
		return a
	}
	path := req.Target
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	found := a.findPath(rev, path)
	a.deal(rev)
	switch {
	case !found:
		a.Status = 404
		a.step("no path of that host matches %s and the fleet has no default backend: 404", path)
	case a.Backend == Unavailable:
		a.Status = 503
		a.step("it is closed, or what it needs is missing: 503")
	case rev.Backend(a.Backend) == nil:
		a.Status = 503
		a.step("there is no backend %s: 503", a.Backend)
	default:
		a.Outcome = ToBackend
	}
	return a
}

// hostOnly does what the converters host_only, lower and rtrim(.) do.
func hostOnly(header string) string {
	host := header
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	return strings.TrimRight(strings.ToLower(host), ".")
}

func lookup(rev *snapshot.Revision, mapName, key string) (string, bool) {
	e, ok := rev.Get(snapshot.EntryKey(mapName, key)).(*snapshot.MapEntry)
	if !ok {
		return "", false
	}
	return e.Value, true
}

func (a *Answer) findOwner(rev *snapshot.Revision) {
	if owner, ok := lookup(rev, Hosts, a.Host); ok {
		a.Owner = owner
		a.step("host %s is named by itself", a.Host)
		return
	}
	wild := a.Host
	if i := strings.IndexByte(wild, '.'); i > 0 {
		wild = "*" + wild[i:]
	} else if i < 0 && wild != "" {
		wild = "*"
	}
	if owner, ok := lookup(rev, Hosts, wild); ok {
		a.Owner = owner
		a.step("host %s belongs to %s", a.Host, owner)
		return
	}
	a.Owner = AnyHost
	a.step("nobody names host %q: it belongs to the rules without a host", a.Host)
}

func (a *Answer) redirected(rev *snapshot.Revision, req Request) bool {
	if req.TLS {
		return false
	}
	_, byHost := lookup(rev, Redirect, a.Host)
	_, byOwner := lookup(rev, Redirect, a.Owner)
	if !byHost && !byOwner {
		return false
	}
	a.Outcome, a.Status, a.Location = Redirected, 308, "https://"+a.Host+req.Target
	a.step("it stands under a tls entry, so port 80 leads to https: 308")
	return true
}

func (a *Answer) findPath(rev *snapshot.Revision, path string) (found bool) {
	if a.Backend, found = lookup(rev, Exact, a.Owner+path); found {
		a.Map, a.Path = Exact, path
		a.step("path %s is named exactly and leads to %s", path, a.Backend)
		return true
	}
	// Every key ends in a slash, so the longest that matches is found by cutting off one element after the other.
	for key := a.Owner + path + "/"; key != ""; key = key[:strings.LastIndexByte(key[:len(key)-1], '/')+1] {
		if a.Backend, found = lookup(rev, Prefix, key); found {
			a.Map, a.Path = Prefix, strings.TrimSuffix(key[len(a.Owner):], "/")
			if a.Path == "" {
				a.Path = "/"
			}
			a.step("prefix %s is the longest that matches and leads to %s", a.Path, a.Backend)
			return true
		}
	}
	if a.Backend, found = lookup(rev, Fallback, FallbackKey); found {
		a.Map, a.Path = Fallback, "/"
		a.step("no path of that host matches: the fleet's oldest default backend is %s", a.Backend)
	}
	return found
}

// deal looks up every part of a split, as HAProxy does one of them for each request.
func (a *Answer) deal(rev *snapshot.Revision) {
	if !strings.HasPrefix(a.Backend, SplitPrefix) {
		return
	}
	chances := map[string]int{}
	for part := range Parts {
		backend, found := lookup(rev, Choice, ChoiceKey(a.Backend, part))
		if !found {
			backend = a.Backend
		}
		chances[backend]++
	}
	for backend, n := range chances {
		a.Shares = append(a.Shares, Share{backend, n})
	}
	slices.SortFunc(a.Shares, func(a, b Share) int { return cmp.Or(b.Parts-a.Parts, strings.Compare(a.Backend, b.Backend)) })
	a.Backend = a.Shares[0].Backend
	for _, s := range a.Shares {
		a.step("%d of %d requests go to %s", s.Parts, Parts, s.Backend)
	}
}
