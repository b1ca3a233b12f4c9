package snapshot

import (
	"net/netip"
	"strings"
	"testing"
)

// What people can write into an annotation, a path, a host or a name, and what must not pass: each refusal names its object.
func TestCheck(t *testing.T) {
	long := strings.Repeat("a", MaxWord)
	options := func(n int) []string { return strings.Split(strings.TrimSuffix(strings.Repeat("check,", n), ","), ",") }
	pem := []byte("pem")
	for name, c := range map[string]struct {
		r    Resource
		want string // a part of the error; empty where it is fine
	}{
		"a word with everything":   {&Backend{Name: "b", Lines: []Line{{"acl", "' \"\\#$;{%[\té"}}}, ""},
		"longest word":             {&Backend{Name: "b", Lines: []Line{{"acl", long}}}, ""},
		"word too long":            {&Backend{Name: "b", Lines: []Line{{"acl", "x"}, {"acl", long + "a"}}}, "backend b: line 2: word 2: 2049 bytes"},
		"line feed":                {&Backend{Name: "b", Lines: []Line{{"acl", "a\nb"}}}, "backend b: line 1: word 2"},
		"carriage return":          {&Section{Type: "frontend", Name: "web", Lines: []Line{{"acl", "a\rb"}}}, "section frontend web: line 1: word 2"},
		"NUL":                      {&Section{Type: "global", Lines: []Line{{"\x00"}}}, "section global: line 1: word 1"},
		"not UTF-8":                {&Section{Type: "global", Lines: []Line{{"log-tag", "\xff"}}}, "not UTF-8"},
		"empty word":               {&Section{Type: "global", Lines: []Line{{"http-request", "deny", "if", ""}}}, "word 4: it is empty"},
		"no words":                 {&Section{Type: "global", Lines: []Line{{}}}, "line 1: 0 words"},
		"too many words":           {&Section{Type: "global", Lines: []Line{options(65)}}, "line 1: 65 words"},
		"opens a section":          {&Backend{Name: "b", Lines: []Line{{"listen", "x"}}}, "line 1: word 1"},
		"preprocessor":             {&Backend{Name: "b", Lines: []Line{{".notice", "x"}}}, "line 1: word 1"},
		"unknown section":          {&Section{Type: "front end", Name: "web"}, "not the keyword of a section"},
		"backend as a section":     {&Section{Type: "backend", Name: "web"}, "section backend web"},
		"two spaces in a title":    {&Section{Type: "frontend", Name: "web  from berth"}, "more than one space"},
		"tab in a title":           {&Section{Type: "frontend", Name: "web\tfrom"}, "white space"},
		"name for global":          {&Section{Type: "global", Name: "x"}, "none for global"},
		"name with a slash":        {&Backend{Name: "a/b"}, "holds a '/'"},
		"no name":                  {&Backend{}, "the name has 0 bytes"},
		"bad defaults":             {&Backend{Name: "b", Defaults: "x y"}, "backend b: defaults"},
		"server option":            {&Backend{Name: "b", ServerOptions: []string{"a\n"}}, "backend b: server options: word 1"},
		"most server options":      {&Backend{Name: "b", ServerOptions: options(MaxWords - ServerWords)}, ""},
		"too many server options":  {&Backend{Name: "b", ServerOptions: options(MaxWords - ServerWords + 1)}, "server options: 57 words"},
		"a section for one frame":  {&Section{Type: "peers", Name: "p", Lines: lines(1600, long)}, "at most 3145728"},
		"map that leaves its home": {&Map{Name: "../x"}, "begins with a dot"},
		"key with a space":         {&MapEntry{Map: "m", Name: "a b", Value: "x"}, "map entry m a b: key"},
		"key with a tab":           {&MapEntry{Map: "m", Name: "a\tb", Value: "x"}, "key"},
		"comment as a key":         {&MapEntry{Map: "m", Name: "#a", Value: "x"}, "begins with a #"},
		"value with a line feed":   {&MapEntry{Map: "m", Name: "a", Value: "x\nb c"}, "value"},
		"no value":                 {&MapEntry{Map: "m", Name: "a"}, "value: 0 bytes"},
		"entry":                    {&MapEntry{Map: "m", Name: "shop.example.com/ü#;'", Value: "b"}, ""},
		"negated server name":      {&Certificate{Name: "a/b", ServerNames: []string{"!x.example.com"}}, "certificate a/b: server name"},
		"two names in one":         {&Certificate{Name: "a/b", ServerNames: []string{"x y"}}, "server name"},
		"wildcard":                 {&Certificate{Name: "a/b", ServerNames: []string{"*.x.example.com"}, PEM: pem, Content: PEMDigest(pem)}, ""},
		"PEM of another digest":    {&Certificate{Name: "a/b", PEM: pem}, "does not have the digest"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.r)
			switch {
			case c.want == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func lines(n int, word string) (out []Line) {
	for range n {
		out = append(out, Line{"x", word})
	}
	return out
}

func TestCheckSlot(t *testing.T) {
	v4 := netip.MustParseAddr("10.0.0.1")
	for name, c := range map[string]struct {
		s  Slot
		ok bool
	}{
		"never taken":    {Slot{}, true},
		"freed":          {Slot{Since: 7}, true},
		"ready":          {Slot{State: Ready, Address: v4, Port: 80, Weight: 1}, true},
		"drain":          {Slot{State: Drain, Address: v4, Port: 65535, Weight: MaxWeight, Since: 3}, true},
		"free at a pod":  {Slot{Address: v4, Port: 80, Weight: 1}, false},
		"no address":     {Slot{State: Ready, Port: 80, Weight: 1}, false},
		"no port":        {Slot{State: Ready, Address: v4, Weight: 1}, false},
		"no weight":      {Slot{State: Ready, Address: v4, Port: 80}, false},
		"heavy":          {Slot{State: Ready, Address: v4, Port: 80, Weight: 257}, false},
		"zone":           {Slot{State: Ready, Address: netip.MustParseAddr("fe80::1%eth0"), Port: 80, Weight: 1}, false},
		"unknown state":  {Slot{State: 9, Address: v4, Port: 80, Weight: 1}, false},
		"endless name":   {Slot{State: Ready, Address: v4, Port: 80, Weight: 1, Endpoint: strings.Repeat("x", MaxEndpoint+1)}, false},
		"broken name":    {Slot{State: Ready, Address: v4, Port: 80, Weight: 1, Endpoint: "\xff"}, false},
		"IPv4 inside v6": {Slot{State: Ready, Address: netip.MustParseAddr("::ffff:10.0.0.1"), Port: 80, Weight: 1}, true},
	} {
		if err := CheckSlot(c.s); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVersionsAndDigests(t *testing.T) {
	var zero Version
	old, newer, taken := Version{1, 9}, Version{1, 10}, Version{1, 9}.Next(2)
	if !zero.IsZero() || zero.Compare(old) != -1 || old.Compare(newer) != -1 || newer.Compare(taken) != -1 || taken.Compare(taken) != 0 || taken.Compare(old) != 1 {
		t.Errorf("the order of %s, %s, %s and %s", zero, old, newer, taken)
	}
	if taken != (Version{2, 10}) || taken.Next(1) != (Version{2, 11}) || taken.String() != "2.10" {
		t.Errorf("after %s comes %s, and in an older epoch %s", old, taken, taken.Next(1))
	}
	d := PEMDigest([]byte("x"))
	if got, err := DigestFromBytes(d[:]); err != nil || got != d || len(d.String()) != 2*DigestSize || d.Short() != d.String()[:12] {
		t.Errorf("%s is read as %s (%v)", d, got, err)
	}
	for _, n := range []int{1, DigestSize - 1, DigestSize + 1} {
		if _, err := DigestFromBytes(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are taken for a digest", n)
		}
	}
	if d.Sub(d) != (Digest{}) || d.Add(d).Sub(d) != d || !(Digest{}).Sub(d).Add(d).IsZero() {
		t.Error("taking away is not the reverse of adding")
	}
}
