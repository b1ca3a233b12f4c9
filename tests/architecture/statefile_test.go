package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What P2 keeps out: a server state file keeps the port, the state and the weight that a server had, never its address, so that a reload mixes old and new.
// Comments may speak of it; what the product writes or asks for may not.
func TestARCH6NothingOfAServerStateFile(t *testing.T) {
	words := []string{"server-state", "state-from-file", "init-addr"}
	// The renderer knows one of the words to leave it out of what it adds at run time.
	known := map[string]string{"init-addr": filepath.Join("api", "snapshot", "render", "server.go")}
	texts := 0
	for _, module := range []string{"api", "proto", "controlplane", "dataplane-agent"} {
		root := filepath.Join("..", "..")
		err := filepath.WalkDir(filepath.Join(root, module), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value) // a literal that was parsed can be unquoted
				texts++
				for _, word := range words {
					if strings.Contains(text, word) && (text != word || known[word] == "" || path != filepath.Join(root, known[word])) {
						t.Errorf("%s says %q", path, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatalf("look through %s: %v", module, err)
		}
	}
	if texts < 1000 {
		t.Errorf("only %d texts were looked at: does this test still find the product's code?", texts)
	}
}
