package explain

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/snapshot"
)

// of makes a revision of entries "MAP KEY VALUE" and backends.
func of(entries ...string) *snapshot.Revision {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, e := range entries {
		f := strings.Fields(e)
		key := snapshot.EntryKey(f[0], f[1])
		d.Changes[key] = Entry(key, f[2])
		b := &snapshot.Backend{Name: f[2]}
		if f[2] != "missing" && !strings.HasPrefix(f[2], SplitPrefix) {
			d.Changes[b.Key()] = b
		}
	}
	return snapshot.EmptyRevision().Apply(d, snapshot.Version{})
}

func TestWalk(t *testing.T) {
	rev := of("hosts a.example a.example", "hosts *.example *.example", "exact a.example/x exact", "prefix a.example/ root", "prefix a.example/x/ x", "prefix -/any/ any",
		"redirect *.example 308", "fallback default fallback", "prefix a.example/closed/ "+Unavailable, "prefix a.example/missing/ missing",
		"prefix a.example/shared/ split.1", "choice split.1/0 x", "choice split.1/1 exact", "prefix a.example/unshared/ split.2")
	for part := 2; part < Parts; part++ {
		key := snapshot.EntryKey(Choice, ChoiceKey("split.1", part))
		rev = rev.Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{key: Entry(key, []string{"x", "root"}[part%2])}}, snapshot.Version{})
	}
	tests := []struct {
		tls                bool
		host, target, want string
	}{
		{false, "a.example", "/", "root"}, {false, "A.Example.:80", "/x?y#z", "exact"}, {false, "a.example", "/x/", "x"}, {false, "a.example", "/xy", "root"},
		{false, "b.example", "/q?r", "308 https://b.example/q?r"}, {true, "b.example", "/", "fallback"}, {false, "c.b.example", "/any/1", "any"},
		{false, "", "/any", "any"}, {false, "", "*", "fallback"}, {false, "example", "/", "fallback"}, {false, ".example", "/", "fallback"},
		{false, "a.example", "/closed", "503"}, {false, "a.example", "/missing", "503"}, {false, "[::1]:80", "/any", "any"},
		{false, "a.example", "/shared/y", "x"}, {false, "a.example", "/unshared", "503"},
	}
	for _, tt := range tests {
		a := Walk(rev, Request{tt.tls, tt.host, tt.target})
		got := a.Backend
		switch {
		case a.Outcome == Redirected:
			got = "308 " + a.Location
		case a.Outcome == Answered && a.Status == 503:
			got = "503"
		case a.Outcome == Answered:
			got = "404"
		}
		if got != tt.want || len(a.Steps) < 2 {
			t.Errorf("%q %s: %s, want %s\n%s", tt.host, tt.target, got, tt.want, strings.Join(a.Steps, "\n"))
		}
	}
	want := []Share{{"x", 50}, {"root", 49}, {"exact", 1}}
	if a := Walk(rev, Request{Host: "a.example", Target: "/shared"}); !slices.Equal(a.Shares, want) || !strings.HasSuffix(a.Steps[len(a.Steps)-1], "1 of 100 requests go to exact") {
		t.Errorf("the shares are %v, want %v; %q", a.Shares, want, a.Steps)
	}
	if a := Walk(snapshot.EmptyRevision(), Request{Host: "x", Target: "/"}); a.Status != 404 {
		t.Errorf("an empty revision answers %+v", a)
	}
}

// EXPL-1 in small: cutting elements off finds what HAProxy's map_beg finds, the longest key that is a prefix of OWNER/path/.
func TestLongestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`(/[ab]{0,2}){1,4}`)
		entries := []string{"hosts h h"}
		for _, p := range rapid.SliceOfNDistinct(path, 0, 8, rapid.ID).Draw(t, "prefixes") {
			p = strings.TrimRight(p, "/") + "/"
			entries = append(entries, "prefix h"+p+" to"+strings.ReplaceAll(p, "/", "-"))
		}
		rev := of(entries...)
		target := path.Draw(t, "target")
		want := ""
		for e := range rev.Entries(Prefix) {
			if strings.HasPrefix("h"+target+"/", e.Name) && (want == "" || len(e.Value) > len(want)) {
				want = e.Value
			}
		}
		if a := Walk(rev, Request{Host: "h", Target: target}); a.Backend != want {
			t.Fatalf("%s leads to %q, want %q", target, a.Backend, want)
		}
	})
}

// A worker is told changes in the order of the maps' names: what an entry leads to has to be there before it.
func TestChoiceComesFirst(t *testing.T) {
	for _, name := range []string{Hosts, Exact, Prefix, Redirect, Fallback} {
		if name <= Choice {
			t.Errorf("the map %s is changed before %s", name, Choice)
		}
	}
}
