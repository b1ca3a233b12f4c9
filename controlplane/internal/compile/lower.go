package compile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// defaultsName is the named defaults section that every proxy section is based on.
const defaultsName = "berth"

// stageSections stages what a fleet has whatever it serves.
func (f *fleet) stageSections() {
	t := f.spec.Timeouts
	sections := []*snapshot.Section{
		{Type: "global", Lines: []snapshot.Line{
			{"hard-stop-after", string(t.HardStopAfter)},
		}},
		{Type: "defaults", Name: defaultsName, Lines: []snapshot.Line{
			{"mode", "http"},
			{"timeout", "connect", string(t.Connect)},
			{"timeout", "client", string(t.Client)},
			{"timeout", "server", string(t.Server)},
			{"timeout", "http-keep-alive", string(t.HTTPKeepAlive)},
			{"timeout", "http-request", "10s"},
			{"timeout", "queue", string(f.defaults.TimeoutQueue)},
			{"retries", "4"},
			{"option", "redispatch", "1"},
			{"retry-on", "conn-failure", "empty-response"}, // more than conn-failure for requests only that backends do not exempt
			{"http-reuse", "safe"},
			{"option", "idle-close-on-response"},
		}},
		{Type: "frontend", Name: "web from " + defaultsName, Lines: frontendLines()},
	}
	for _, s := range sections {
		f.stage(s.Key(), s)
	}
	for _, name := range []string{explain.Choice, explain.Hosts, explain.Exact, explain.Prefix, explain.Redirect, explain.Fallback} {
		m := &snapshot.Map{Name: name}
		f.stage(m.Key(), m)
	}
	closed := &snapshot.Backend{Name: explain.Unavailable, Defaults: defaultsName, Lines: []snapshot.Line{{"http-request", "return", "status", "503"}}}
	f.stage(closed.Key(), closed)
}

// frontendLines route a request by maps. Package explain walks the same way; what is changed here is changed there, and the test that puts the same
// requests to both says so if it was not.
func frontendLines() []snapshot.Line {
	file := func(name string) string { return "maps/" + name + ".map" }
	unless := func(variable string) []string {
		return []string{"if", "!{", "var(" + variable + ")", "-m", "found", "}"}
	}
	set := func(variable, value string, condition ...string) snapshot.Line {
		return append(snapshot.Line{"http-request", "set-var(" + variable + ")", value}, condition...)
	}
	redirect := func(by string) snapshot.Line {
		return snapshot.Line{"http-request", "redirect", "location", "https://%[var(txn.host)]%[pathq]", "code", "308",
			"if", "!{", "ssl_fc", "}", "{", by + ",map_str(" + file(explain.Redirect) + ")", "-m", "found", "}"}
	}
	return []snapshot.Line{
		set("txn.host", "req.hdr(host),host_only,lower,rtrim(.)"),
		set("txn.owner", "var(txn.host),map_str("+file(explain.Hosts)+")"),
		set("txn.owner", "var(txn.host),regsub(^[^.]+,*),map_str("+file(explain.Hosts)+")", unless("txn.owner")...),
		set("txn.owner", "str("+explain.AnyHost+")", unless("txn.owner")...),
		redirect("var(txn.host)"),
		redirect("var(txn.owner)"),
		set("txn.path", "path"),
		set("txn.backend", "var(txn.owner),concat(,txn.path),map_str("+file(explain.Exact)+")"),
		set("txn.backend", "var(txn.owner),concat(,txn.path,/),map_beg("+file(explain.Prefix)+")", unless("txn.backend")...),
		set("txn.backend", "str("+explain.FallbackKey+"),map_str("+file(explain.Fallback)+")", unless("txn.backend")...),
		append(snapshot.Line{"http-request", "return", "status", "404"}, unless("txn.backend")...),
		set("txn.part", fmt.Sprintf("rand(%d)", explain.Parts), "if", "{", "var(txn.backend)", "-m", "beg", explain.SplitPrefix, "}"),
		set("txn.backend", "var(txn.backend),concat(/,txn.part),map_str("+file(explain.Choice)+")", "if", "{", "var(txn.part)", "-m", "found", "}"),
		{"use_backend", "%[var(txn.backend)]"},
		{"default_backend", explain.Unavailable},
	}
}

// stageBackend stages a backend that comes. Its name says what its content is, so it is never staged to be changed.
func (f *fleet) stageBackend(b *backend) {
	r := &snapshot.Backend{Name: b.Name, Defaults: defaultsName, Lines: backendLines(b.Backend), ServerOptions: serverOptions(b.Backend)}
	f.stage(r.Key(), r)
}

func (f *fleet) unstageBackend(b *backend) {
	f.stage((&snapshot.Backend{Name: b.Name}).Key(), nil)
}

// owner is how a host is spelled in front of the paths of maps.
func owner(host string) string {
	if host == "" {
		return explain.AnyHost
	}
	return host
}

// eachBackend calls f for every backend that a route leads to.
func eachBackend(r desired.Route, f func(desired.Backend)) {
	if r.Split == nil {
		f(r.Backend)
		return
	}
	for _, s := range r.Split.Shares {
		f(s.Backend)
	}
}

// What a name of a split and its parts are is agreed between who makes them and who walks through them.
var (
	_ [desired.Parts]struct{} = [explain.Parts]struct{}{}
	_                         = map[bool]struct{}{false: {}, desired.SplitPrefix == explain.SplitPrefix: {}}
)

// destination is what the entry of a route's path says.
func destination(r desired.Route) string {
	if r.Split != nil {
		return r.Split.Name
	}
	return target(r.Backend)
}

// deal writes which backend has which part of a split.
func deal(s *desired.Split, entries map[snapshot.Key]string) {
	part := 0
	for _, share := range s.Shares {
		for range share.Parts {
			entries[snapshot.EntryKey(explain.Choice, explain.ChoiceKey(s.Name, part))] = target(share.Backend)
			part++
		}
	}
}

func target(b desired.Backend) string {
	if b.Closed() {
		return explain.Unavailable
	}
	return b.Name
}

// entriesOf are the entries of maps that a host's routes make.
func entriesOf(host string, routes map[desired.Place]desired.Route) map[snapshot.Key]string {
	entries := make(map[snapshot.Key]string, len(routes)+1)
	if routes == nil {
		return entries
	}
	if host != "" {
		entries[snapshot.EntryKey(explain.Hosts, host)] = host
	}
	_, root := routes[desired.Place{Match: desired.Prefix, Path: "/"}]
	for at, r := range routes {
		if r.Split != nil {
			deal(r.Split, entries)
		}
		switch {
		case at.Match == desired.Exact:
			entries[snapshot.EntryKey(explain.Exact, owner(host)+at.Path)] = destination(r)
		case at.Match == desired.Default && root: // never reached
		case at.Path == "/":
			entries[snapshot.EntryKey(explain.Prefix, owner(host)+"/")] = destination(r)
		default:
			entries[snapshot.EntryKey(explain.Prefix, owner(host)+at.Path+"/")] = destination(r)
		}
	}
	return entries
}

func (f *fleet) stageHost(host string, old, next map[desired.Place]desired.Route) {
	before, after := entriesOf(host, old), entriesOf(host, next)
	for key := range before {
		if _, stays := after[key]; !stays {
			f.stage(key, nil)
		}
	}
	for key, value := range after {
		if was, is := before[key]; !is || was != value {
			f.stage(key, explain.Entry(key, value))
		}
	}
}

func (f *fleet) stageRedirect(host string, redirect bool) {
	key := snapshot.EntryKey(explain.Redirect, host)
	if !redirect {
		f.stage(key, nil)
		return
	}
	f.stage(key, explain.Entry(key, "308"))
}

func (f *fleet) stageFallback() {
	key := snapshot.EntryKey(explain.Fallback, explain.FallbackKey)
	if f.fallback == nil {
		f.stage(key, nil)
		return
	}
	f.stage(key, explain.Entry(key, target(f.fallback.Backend)))
}

func (f *fleet) certificateName(secret desired.Ref) string {
	return f.c.prefix(secret.Cluster) + secret.String()
}

func (f *fleet) stageCertificate(ref desired.Ref) {
	s, names := f.c.secrets[ref], f.names[ref]
	cert := &snapshot.Certificate{Name: f.certificateName(ref)}
	if s == nil || s.cert == nil || len(names) == 0 {
		f.stage(cert.Key(), nil)
		return
	}
	cert.ServerNames = slices.Sorted(maps.Keys(names))
	cert.Content, cert.PEM = s.cert.Content, s.cert.PEM
	f.stage(cert.Key(), cert)
}
