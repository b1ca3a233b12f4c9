package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// wallClock are the functions and methods of package time that go by the wall clock, or take from a time what the kernel's steady clock has put into it.
var wallClock = map[string]bool{
	"Unix": true, "UnixNano": true, "UnixMilli": true, "UnixMicro": true, "Date": true, "Parse": true, "ParseInLocation": true, "AddDate": true, "UTC": true, "Local": true,
	"Format": true, "AppendFormat": true, "Hour": true, "Minute": true, "Second": true, "YearDay": true, "Weekday": true, "In": true, "AsTime": true,
}

// excused are the places that have a reason, by file and name.
var excused = map[string]string{
	"certs/certs.go AddDate":  "the default certificate is valid by the calendar",
	"haproxy/info.go Unix":    "when a worker has started is only shown",
	"haproxy/runtime.go Unix": "a deadline that is over already, whatever the clock says",
	"report/report.go AsTime": "two times of the plane are compared with each other",
}

// A clock that jumps must not end a stream, start a reload or keep a back-off for ever: every duration in the agent is measured, and every timer runs, by the steady clock that time.Now
// has beside the wall's. This reads the source for whatever would take the wall's.
func TestNoTimerGoesByTheWallClock(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !wallClock[s.Sel.Name] {
				return true
			}
			if excused[name+" "+s.Sel.Name] == "" {
				t.Errorf("%s: %s goes by the wall clock", set.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 30 {
		t.Errorf("%d files read, %v", files, err)
	}
}
