package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

// FrontendState is whether a frontend listens.
type FrontendState uint8

// A paused frontend can be opened again, a stopped one only by a new worker.
const (
	Open FrontendState = iota
	Paused
	Stopped
)

// Frontend is a frontend as a worker has it.
type Frontend struct {
	State FrontendState
	// Limit is the most connections.
	Limit int
}

// Intake is how much traffic a worker lets in.
type Intake struct {
	// Frontends are those of the revision, by name, that the worker has.
	Frontends map[string]Frontend
	// MaxConn is the most connections of the worker now, HardMaxConn what it was started for.
	MaxConn, HardMaxConn int
	// ConnRate, SessRate and SSLRate limit what is new in a second, 0 if nothing does.
	ConnRate, SessRate, SSLRate int
}

// Health is what of a server decides, beside its slot, whether it is given traffic.
type Health struct {
	Backend, Server string
	// Stopped says that it is given none though it is ready, Unchecked that its health check is switched off.
	Stopped, Unchecked bool
	// Limit is the most requests at a time, 0 if nothing limits them.
	Limit int
}

// Amendment is something that somebody has changed in a worker beside its slots and maps.
type Amendment struct {
	// What it is, for people; the same each time it is found.
	What string
	// Command takes it back. Where it is empty only a new worker does.
	Command string
}

// Frontends are the names of a revision's frontends.
func Frontends(rev *snapshot.Revision) []string {
	var out []string
	for s := range snapshot.Of[*snapshot.Section](rev, snapshot.KindSection) {
		if s.Type == "frontend" || s.Type == "listen" {
			out = append(out, first(s.Name))
		}
	}
	return out
}

// Amend says where a worker that runs the revision lets in less traffic, or more, than its configuration says.
func (i Intake) Amend(rev *snapshot.Revision) []Amendment {
	var out []Amendment
	amend := func(command, format string, a ...any) {
		out = append(out, Amendment{What: fmt.Sprintf(format, a...), Command: command})
	}
	if i.MaxConn != i.HardMaxConn {
		amend("set maxconn global 0", "the worker takes %d connections of %d", i.MaxConn, i.HardMaxConn)
	}
	for _, rate := range []struct {
		kind, keyword string
		has           int
	}{{"connections", "maxconnrate", i.ConnRate}, {"sessions", "maxsessrate", i.SessRate}, {"ssl-sessions", "maxsslrate", i.SSLRate}} {
		if want := number(rev, "global", "", rate.keyword, 0); rate.has != want {
			amend("set rate-limit "+rate.kind+" global "+strconv.Itoa(want), "the worker takes %d %s a second, and is to take %d (0 is any number)", rate.has, rate.kind, want)
		}
	}
	for s := range snapshot.Of[*snapshot.Section](rev, snapshot.KindSection) {
		if s.Type != "frontend" && s.Type != "listen" {
			continue
		}
		name := first(s.Name)
		has, there := i.Frontends[name]
		switch {
		case !there:
			amend("", "frontend %s is not there", name)
			continue
		case has.State == Stopped:
			amend("", "frontend %s is shut down", name)
			continue
		case has.State == Paused:
			amend("enable frontend "+render.Escape(name), "frontend %s is disabled", name)
		}
		if want := i.limit(rev, s); has.Limit != want {
			amend("set maxconn frontend "+render.Escape(name)+" "+strconv.Itoa(want), "frontend %s takes %d connections, and is to take %d", name, has.Limit, want)
		}
	}
	return out
}

// limit is how many connections a frontend is to take: what it says, or what its defaults say, or as many as the worker.
func (i Intake) limit(rev *snapshot.Revision, frontend *snapshot.Section) int {
	defaults := ""
	if words := strings.Fields(frontend.Name); len(words) == 3 && words[1] == "from" {
		defaults = words[2]
	}
	return number(rev, frontend.Type, frontend.Name, "maxconn", number(rev, "defaults", defaults, "maxconn", i.HardMaxConn))
}

// Amend says where a server is not as its backend's options say.
func (h Health) Amend(b *snapshot.Backend) []Amendment {
	var out []Amendment
	server := render.Escape(h.Backend) + "/" + render.Escape(h.Server)
	if h.Unchecked {
		out = append(out, Amendment{"the health check of " + h.Backend + "/" + h.Server + " is switched off", "enable health " + server})
	}
	judged := func(option string) bool {
		return slices.Contains([]string{"check", "agent-check", "track", "observe"}, option)
	}
	if h.Stopped && !slices.ContainsFunc(b.ServerOptions, judged) {
		out = append(out, Amendment{h.Backend + "/" + h.Server + " is ready and was told to be unhealthy", "set server " + server + " health up"})
	}
	want := 0
	if at := slices.Index(b.ServerOptions, "maxconn"); at >= 0 && at+1 < len(b.ServerOptions) {
		want, _ = strconv.Atoi(b.ServerOptions[at+1])
	}
	if h.Limit != want {
		out = append(out, Amendment{
			fmt.Sprintf("%s/%s takes %d requests at a time, and is to take %d (0 is any number)", h.Backend, h.Server, h.Limit, want),
			"set maxconn server " + server + " " + strconv.Itoa(want),
		})
	}
	return out
}

// Publish is how a backend is brought back that no rule can send a request to.
func Publish(backend string) Amendment {
	return Amendment{"backend " + backend + " is unpublished", "publish backend " + render.Escape(backend)}
}

func first(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

// number is what the last line of a section with that keyword says.
func number(rev *snapshot.Revision, kind, name, keyword string, otherwise int) int {
	for s := range snapshot.Of[*snapshot.Section](rev, snapshot.KindSection) {
		if s.Type != kind || s.Name != name {
			continue
		}
		for _, l := range s.Lines {
			if len(l) < 2 || l[0] != keyword {
				continue
			}
			if n, err := strconv.Atoi(l[1]); err == nil {
				otherwise = n
			}
		}
	}
	return otherwise
}
