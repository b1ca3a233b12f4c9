package render_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

// split is a model of how HAProxy takes a line apart (parse_line of its tools.c, all options on), strict where HAProxy only warns.
// TestRENDER1_WordsComeBack holds the quoting against HAProxy itself.
func split(line string) (words []string, err error) {
	var word []byte
	inWord, single, double := false, false, false
	end := func() {
		if inWord {
			words = append(words, string(word))
		}
		word, inWord = nil, false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == 0 || c == '\n' || c == '\r':
			return nil, errors.New("the line ends inside")
		case single && c == '\'':
			single = false
		case single:
			word = append(word, c)
		case double && c == '"':
			double = false
		case c == '\\':
			if i++; i == len(line) || !strings.ContainsRune(` \'"#$`, rune(line[i])) {
				return nil, errors.New("a backslash before something else")
			}
			word, inWord = append(word, line[i]), true
		case double && c == '$':
			return nil, errors.New("a variable")
		case double:
			word = append(word, c)
		case c == '\'':
			single, inWord = true, true
		case c == '"':
			double, inWord = true, true
		case c == ' ' || c == '\t':
			end()
		case c == '#':
			return nil, errors.New("a comment")
		default:
			word, inWord = append(word, c), true
		}
	}
	if single || double {
		return nil, errors.New("a quote without its end")
	}
	end()
	return words, nil
}

// FuzzQuote (RENDER-1): a line is refused, or comes apart into the very words that it was made of. Words are the input's lines.
func FuzzQuote(f *testing.F) {
	for _, w := range evil {
		if len(w) < 64 {
			f.Add("acl\n" + w + "\nx")
		}
	}
	f.Add("http-request\ndeny\nif\n")
	f.Add("backend\nx")
	f.Fuzz(func(t *testing.T, text string) {
		line := snapshot.Line(strings.Split(text, "\n"))
		got, err := render.Quote(line)
		if err != nil {
			if snapshot.CheckLine(line) == nil {
				t.Fatalf("%q is refused by Quote alone: %v", line, err)
			}
			return
		}
		back, err := split(got)
		if err != nil || !slices.Equal(back, line) {
			t.Fatalf("%q\nis written as %s\nand read as   %q (%v)", line, got, back, err)
		}
	})
}

// FuzzFiles: text of people anywhere in a snapshot is an error or changes nothing around it.
func FuzzFiles(f *testing.F) {
	for _, w := range []string{"a", "a b", "#", "'", "\"", "a\nbackend evil", "*.example.com", "../../etc/passwd", "shop/tls", "\xff", "!x"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		for _, r := range []snapshot.Resource{
			&snapshot.Section{Type: "frontend", Name: w, Lines: []snapshot.Line{{"mode", "http"}}},
			&snapshot.Section{Type: "frontend", Name: "web", Lines: []snapshot.Line{{"acl", w}}},
			&snapshot.Backend{Name: w, Lines: []snapshot.Line{{"mode", "http"}}},
			&snapshot.Backend{Name: "b", Defaults: w, Lines: []snapshot.Line{{"mode", "http"}}},
			&snapshot.Backend{Name: "b", ServerOptions: []string{w}},
			&snapshot.Map{Name: w},
			&snapshot.MapEntry{Map: "m", Name: w, Value: "v"},
			&snapshot.MapEntry{Map: "m", Name: "k", Value: w},
			certificate(w, "x.example.com"),
			certificate("c", w),
		} {
			// global, an empty line, and a section of two lines with a server: every other line would be somebody's text.
			gen := generation(&snapshot.Table{Backend: "b", Slots: make([]snapshot.Slot, 1)})
			got, err := render.Files(revision(r, &snapshot.Map{Name: "m"}), gen, render.Machine{DefaultCertificate: "d.pem"})
			if err != nil {
				continue
			}
			for name, content := range got {
				if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.Count(name, "/") > 1 {
					t.Fatalf("%#v makes the file %q", r, name)
				}
				lines := strings.Count(string(content), "\n")
				switch {
				case name == render.ConfigFile && lines > 6:
					t.Fatalf("%#v makes\n%s", r, content)
				case name == render.CertificateList && lines > 2:
					t.Fatalf("%#v makes\n%s", r, content)
				case strings.HasPrefix(name, render.MapFolder):
					for l := range strings.Lines(string(content)) {
						if f := strings.Split(strings.TrimSuffix(l, "\n"), " "); lines > 1 || len(f) != 2 || f[0][0] == '#' || (f[0] != "k" && f[1] != "v") {
							t.Fatalf("%#v makes\n%s", r, content)
						}
					}
				}
			}
		}
	})
}
