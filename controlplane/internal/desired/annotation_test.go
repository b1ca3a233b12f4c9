package desired

import (
	"strings"
	"testing"
	"unicode"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

func TestAnnotationValues(t *testing.T) {
	good := []struct {
		name, value string
		want        Settings
	}{
		{"balance", "leastconn", Settings{Balance: LeastConn}},
		{"balance", "roundrobin", Settings{Balance: RoundRobin}},
		{"balance", "random", Settings{Balance: Random}},
		{"balance", "source", Settings{Balance: Source}},
		{"balance", "uri", Settings{Balance: URI}},
		{"timeout-connect", "250ms", Settings{TimeoutConnect: "250ms"}},
		{"timeout-server", "90s", Settings{TimeoutServer: "90s"}},
		{"timeout-server", "24d", Settings{TimeoutServer: "24d"}},
		{"timeout-queue", "1500us", Settings{TimeoutQueue: "1500us"}},
		{"check", "none", Settings{Check: Check{Kind: CheckNone}}},
		{"check", "tcp", Settings{Check: Check{Kind: CheckTCP}}},
		{"check", "http:/", Settings{Check: Check{Kind: CheckHTTP, Path: "/"}}},
		{"check", "http:/ready?deep=1", Settings{Check: Check{Kind: CheckHTTP, Path: "/ready?deep=1"}}},
		{"slots-minimum", "12", Settings{SlotsMinimum: 12}},
		{"affinity", "none", Settings{Affinity: AffinityNone}},
		{"affinity", "cookie", Settings{Affinity: AffinityCookie}},
		{"backend-protocol", "http", Settings{Protocol: HTTP}},
		{"backend-protocol", "h2c", Settings{Protocol: H2C}},
		{"backend-protocol", "https", Settings{Protocol: HTTPS}},
		{"backend-protocol", "h2", Settings{Protocol: H2}},
		{"max-connections", "200", Settings{MaxConnections: 200}},
		{"max-connections", "1000000", Settings{MaxConnections: 1000000}},
	}
	for _, tt := range good {
		a := ParseAnnotations(map[string]string{annotationPrefix + tt.name: tt.value}, nil)
		if a.Settings != tt.want || len(a.Notes) > 0 {
			t.Errorf("%s: %q gives %+v and %q, want %+v", tt.name, tt.value, a.Settings, reasons(a.Notes), tt.want)
		}
	}
	bad := map[string][]string{
		"balance":              {"", "static-rr", "RoundRobin", "uri depth 3", "roundrobin\n"},
		"timeout-connect":      {"", "0", "5", "0s", "-1s", "1.5s", "1m30s", "5S", "25d", "99999999999999999999s", "999us", "5s ", "5 s"},
		"timeout-server":       {"banana"},
		"timeout-queue":        {"infinite"},
		"check":                {"", "http", "http:", "http:ready", "https:/ready", "http:/a b", "http:/a\nserver x", "http:/ü", "http:/a#b", "http:/\x00", "http:/" + strings.Repeat("a", 1024)},
		"check-interval":       {"often"},
		"ssl-redirect":         {"", "yes", "True", "0"},
		"slots-minimum":        {"", "0", "-4", "4.5", "four", "4097", "+4", "04"},
		"affinity":             {"", "Cookie", "sticky", "cookie\n", "cookie insert"},
		"affinity-cookie-name": {"", "a b", "a;b", "a=b", "a,b", "ü", "a\n", strings.Repeat("a", 65), "__Host-id", "__secure-id", `"a"`, "a$b"},
		"sticky-drain":         {"", "Keep", "true", "maint"},
		"backend-protocol":     {"", "HTTP", "http/1.1", "grpc", "h2c\n", "fcgi", "https verify none"},
		"max-connections":      {"", "0", "-1", "many", "1000001", "1e3", "99999999999999999999", "0x10"},
	}
	for name, values := range bad {
		for _, value := range values {
			a := ParseAnnotations(map[string]string{annotationPrefix + name: value}, nil)
			if a.Settings != (Settings{}) || !a.SSLRedirect {
				t.Errorf("%s: %q is taken: %+v", name, value, a.Settings)
			}
			holdsAll(t, name, reasons(a.Notes), "warned: annotation berth.dev/"+name, "the default is used")
		}
	}
}

func TestAnnotationsNotOfThisVersion(t *testing.T) {
	a := ParseAnnotations(map[string]string{
		"berth.dev/timeout-sever": "5s", "berth.dev/": "x", "example.com/balance": "banana", "balance": "banana",
	}, nil)
	if a.Settings != (Settings{}) || len(a.Notes) != 2 {
		t.Errorf("%+v, %s", a.Settings, reasons(a.Notes))
	}
	holdsAll(t, "the notes", reasons(a.Notes), "berth.dev/timeout-sever is unknown", "berth.dev/ is unknown")
	alone := ParseAnnotations(map[string]string{"berth.dev/affinity-cookie-name": "sid", "berth.dev/sticky-drain": "keep", "berth.dev/affinity": "none"}, nil)
	holdsAll(t, "parts of an affinity that is not asked for", reasons(alone.Notes), "affinity-cookie-name has no effect without berth.dev/affinity: cookie",
		"sticky-drain has no effect without berth.dev/affinity: cookie")
	all := ParseAnnotations(map[string]string{"berth.dev/affinity-cookie-name": "sid", "berth.dev/sticky-drain": "keep", "berth.dev/affinity": "cookie"}, nil)
	if want := (Settings{Affinity: AffinityCookie, CookieName: "sid", StickyDrain: StickyKeep}); all.Settings != want || len(all.Notes) > 0 {
		t.Errorf("%+v, %s", all.Settings, reasons(all.Notes))
	}
	holdsAll(t, "an interval alone", reasons(ParseAnnotations(map[string]string{"berth.dev/check-interval": "5s"}, nil).Notes), "no effect without berth.dev/check")
}

// P10: an edit that is not acceptable leaves the last accepted value in force, as often as it is edited; taking the annotation away ends that.
func TestLastAcceptedAnnotationStays(t *testing.T) {
	steps := []struct {
		given map[string]string
		want  Settings
		note  string
	}{
		{map[string]string{"berth.dev/timeout-server": "30s", "berth.dev/balance": "random"}, Settings{TimeoutServer: "30s", Balance: Random}, ""},
		{map[string]string{"berth.dev/timeout-server": "banana", "berth.dev/balance": "leastconn"}, Settings{TimeoutServer: "30s", Balance: LeastConn},
			`the last good value "30s" stays in force`},
		{map[string]string{"berth.dev/timeout-server": "potato", "berth.dev/balance": "x"}, Settings{TimeoutServer: "30s", Balance: LeastConn}, `"leastconn" stays`},
		{map[string]string{"berth.dev/balance": "x"}, Settings{Balance: LeastConn}, `"leastconn" stays`},
		{map[string]string{"berth.dev/timeout-server": "banana"}, Settings{}, "the default is used"},
	}
	var accepted map[string]string
	for i, step := range steps {
		a := ParseAnnotations(step.given, accepted)
		if a.Settings != step.want {
			t.Errorf("step %d: %+v, want %+v", i+1, a.Settings, step.want)
		}
		holdsAll(t, "the notes", reasons(a.Notes), step.note)
		accepted = a.Accepted
	}
}

func defaults() Settings { return FleetSettings(&v1alpha1.NewFleet().Spec) }

func TestSettingsThatAgreeShareABackend(t *testing.T) {
	d := defaults()
	same := []Settings{
		{}, {Balance: RoundRobin}, {TimeoutServer: "60s"}, {TimeoutServer: "1m"}, {TimeoutConnect: "500000us"}, {TimeoutQueue: "5000ms"},
		{Check: Check{Kind: CheckNone}}, {CheckInterval: "9s"}, {Check: Check{Kind: CheckNone}, CheckInterval: "9s"}, {SlotsMinimum: 4},
		{Affinity: AffinityNone}, {CookieName: "sid"}, {StickyDrain: StickyKeep}, {Affinity: AffinityNone, CookieName: "sid", StickyDrain: StickyKeep}, {Protocol: HTTP},
	}
	for _, s := range same {
		if over := s.Over(d); over.Suffix() != "" {
			t.Errorf("%+v repeats the defaults, but is %+v", s, over)
		}
	}
	own := []Settings{
		{Balance: URI}, {TimeoutServer: "61s"}, {TimeoutConnect: "61s"}, {TimeoutQueue: "61s"}, {Check: Check{Kind: CheckTCP}},
		{Check: Check{Kind: CheckHTTP, Path: "/"}}, {Check: Check{Kind: CheckHTTP, Path: "/a"}}, {Check: Check{Kind: CheckTCP}, CheckInterval: "9s"}, {SlotsMinimum: 5},
		{TimeoutServer: "61s", TimeoutConnect: "61s"}, {Affinity: AffinityCookie}, {Affinity: AffinityCookie, CookieName: "sid"}, {Affinity: AffinityCookie, CookieName: "keep"},
		{Affinity: AffinityCookie, StickyDrain: StickyKeep}, {Protocol: H2C}, {Protocol: HTTPS}, {Protocol: H2}, {MaxConnections: 5}, {MaxConnections: 50},
	}
	seen := map[string]Settings{}
	for _, s := range own {
		suffix := s.Over(d).Suffix()
		if len(suffix) != 9 || suffix[0] != '_' {
			t.Errorf("%+v has the suffix %q", s, suffix)
		}
		if other, taken := seen[suffix]; taken {
			t.Errorf("%+v and %+v share %s", s, other, suffix)
		}
		seen[suffix] = s
	}
	sticky, explicit := Settings{Affinity: AffinityCookie}.Over(d).Suffix(), Settings{Affinity: AffinityCookie, StickyDrain: StickyBreak}.Over(d).Suffix()
	if sticky != explicit {
		t.Errorf("a default that is written out makes %s of %s", explicit, sticky)
	}
}

// Names outlive a version of the plane: one that comes with an upgrade would cost a reload, and every pod its slot.
func TestSuffixesStay(t *testing.T) {
	for want, s := range map[string]Settings{
		"_abce2b8e": {Balance: URI}, "_4376d308": {Balance: Random, TimeoutConnect: "1s", TimeoutServer: "2s", TimeoutQueue: "3s", Check: Check{Kind: CheckHTTP, Path: "/x"}, CheckInterval: "4s", SlotsMinimum: 9},
		"_209853d7": {Affinity: AffinityCookie, CookieName: "sid", StickyDrain: StickyKeep, Protocol: H2, MaxConnections: 7},
	} {
		if got := s.Suffix(); got != want {
			t.Errorf("%+v has the suffix %s, had %s", s, got, want)
		}
	}
}

// What is given stands over what is below it, field by field.
func TestUnder(t *testing.T) {
	low := Settings{URI, "1s", "2s", "3s", Check{Kind: CheckTCP}, "4s", 5, AffinityCookie, "low", StickyKeep, H2, 6}
	high := Settings{Random, "11s", "12s", "13s", Check{Kind: CheckHTTP, Path: "/"}, "14s", 15, AffinityNone, "high", StickyBreak, HTTP, 16}
	if got := high.Under(low); got != high {
		t.Errorf("%+v", got)
	}
	if got := (Settings{}).Under(low); got != low {
		t.Errorf("%+v", got)
	}
	if got, want := (Settings{Protocol: HTTP}).Under(Port{AppProtocol: "kubernetes.io/wss"}.Hint()), (Settings{Balance: LeastConn, Protocol: HTTP}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestHints(t *testing.T) {
	for says, want := range map[string]Settings{
		"": {}, "http": {}, "kubernetes.io/h2c": {Protocol: H2C}, "kubernetes.io/ws": {Balance: LeastConn}, "kubernetes.io/wss": {Balance: LeastConn, Protocol: HTTPS},
		"https": {Protocol: HTTPS}, "http2": {Protocol: H2C}, "grpc": {Protocol: H2C}, "HTTPS": {}, "example.com/h2c": {}, "mysql": {},
	} {
		if got := (Port{AppProtocol: says}).Hint(); got != want {
			t.Errorf("%q: %+v, want %+v", says, got, want)
		}
	}
}

// WANT-3: whatever stands in an annotation, nothing that comes out can end a word.
func FuzzAnnotations(f *testing.F) {
	for _, setting := range AllSettings() {
		name := setting.Annotation
		for _, value := range []string{"5s", "random", "http:/a b", "http:/\"'\\$x{}", "tcp\nserver evil 10.0.0.1:1", "4096", "true", "cookie", "sid", "keep", "h2c"} {
			f.Add(name, value)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		a := ParseAnnotations(map[string]string{annotationPrefix + name: value}, nil)
		s := a.Settings
		for _, word := range []string{string(s.Balance), string(s.TimeoutConnect), string(s.TimeoutServer), string(s.TimeoutQueue), s.Check.Kind, s.Check.Path, string(s.CheckInterval),
			string(s.Affinity), s.CookieName, string(s.StickyDrain), string(s.Protocol)} {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }) {
				t.Fatalf("%s: %q comes through as %q", name, value, word)
			}
		}
		again := ParseAnnotations(map[string]string{annotationPrefix + name: "\n"}, a.Accepted)
		if again.Settings != a.Settings || again.SSLRedirect != a.SSLRedirect {
			t.Fatalf("%s: %q was accepted and does not stay", name, value)
		}
	})
}
