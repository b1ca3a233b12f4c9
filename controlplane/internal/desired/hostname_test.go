package desired

import (
	"strings"
	"testing"
)

func TestHost(t *testing.T) {
	good := map[string]string{
		"": "", "shop.example.com": "shop.example.com", "Shop.EXAMPLE.com.": "shop.example.com", "*.example.com": "*.example.com",
		"localhost": "localhost", "xn--bcher-kva.example": "xn--bcher-kva.example", "a_b.example.com": "a_b.example.com",
	}
	for raw, want := range good {
		if got, err := Host(raw); err != nil || got != want {
			t.Errorf("Host(%q) = %q, %v; want %q", raw, got, err, want)
		}
	}
	bad := []string{
		"*", "*.", ".", "a..b", ".a", "a.*.b", "*a.example.com", "**.example.com", "a b", "a\nb", "a/b", "a:80", "-a.b", "a-.b", "10.0.0.1", "fd00::1", "bücher.example",
		"#x", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "abc", "a\x00b", "-",
	}
	for _, raw := range bad {
		if got, err := Host(raw); err == nil {
			t.Errorf("Host(%q) = %q, want an error", raw, got)
		}
	}
}

func TestCoversOneLabel(t *testing.T) {
	tests := []struct {
		pattern, host string
		want          bool
	}{
		{"a.example.com", "a.example.com", true}, {"*.example.com", "a.example.com", true}, {"*.example.com", "*.example.com", true},
		{"*.example.com", "b.a.example.com", false}, {"*.example.com", "example.com", false}, {"*.example.com", "aexample.com", false},
		{"a.example.com", "*.example.com", false}, {"*.example.com", "", false}, {"", "", true}, {"*.com", "com", false},
	}
	for _, tt := range tests {
		if got := Covers(tt.pattern, tt.host); got != tt.want {
			t.Errorf("Covers(%q, %q) = %t", tt.pattern, tt.host, got)
		}
	}
}

func TestCleanPath(t *testing.T) {
	tests := []struct {
		match     Match
		raw, want string // "" wants an error
	}{
		{Prefix, "/", "/"}, {Prefix, "", "/"}, {Prefix, "/foo", "/foo"}, {Prefix, "/foo/", "/foo"}, {Prefix, "/foo//", "/foo"}, {Prefix, "//", "/"},
		{Exact, "/foo", "/foo"}, {Exact, "/foo/", "/foo/"}, {Exact, "/", "/"}, {Exact, "", ""}, {Exact, `/a"b'c\d#e$f{g}`, `/a"b'c\d#e$f{g}`},
		{Prefix, "foo", ""}, {Prefix, "/a b", ""}, {Prefix, "/a\tb", ""}, {Prefix, "/a\nb", ""}, {Exact, "/a\x00", ""}, {Exact, "/a\x7f", ""}, {Exact, "/a\u00a0b", ""},
		{Exact, "/a\u2028b", ""}, {Exact, "/\xff", ""}, {Prefix, "/" + strings.Repeat("a", maxPath), ""},
	}
	for _, tt := range tests {
		got, err := CleanPath(tt.match, tt.raw)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("CleanPath(%s, %q) = %q, %v; want %q", tt.match, tt.raw, got, err, tt.want)
		}
	}
}

// WANT-3: what is accepted is one word, and cleaning it again changes nothing.
func FuzzHostAndPath(f *testing.F) {
	for _, s := range []string{"shop.example.com", "*.example.com", "/foo/", "/a b", "/\n", "a\u2028b", "/#", "\xff", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if host, err := Host(raw); err == nil {
			if strings.ContainsAny(host, "/ \t\r\n\x00#\"'\\:") || host == "-" {
				t.Fatalf("Host(%q) = %q", raw, host)
			}
			if again, err := Host(host); err != nil || again != host {
				t.Fatalf("Host(%q) = %q, and of that %q, %v", raw, host, again, err)
			}
		}
		for _, match := range []Match{Exact, Prefix} {
			path, err := CleanPath(match, raw)
			if err != nil {
				continue
			}
			if path[0] != '/' || strings.ContainsAny(path, " \t\r\n\x00\v\f") {
				t.Fatalf("CleanPath(%s, %q) = %q", match, raw, path)
			}
			if again, err := CleanPath(match, path); err != nil || again != path {
				t.Fatalf("CleanPath(%s, %q) = %q, and of that %q, %v", match, raw, path, again, err)
			}
		}
	})
}
