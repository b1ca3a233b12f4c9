package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const project = "github.com/berth-proxy/berth/"

// A pkg is what the go command says about a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// list asks the go command about the packages of a module; with deps about all that they are built from too.
func list(t *testing.T, module string, deps bool) []pkg {
	t.Helper()
	args := []string{"list", "-json=ImportPath,Standard,Imports,Deps"}
	if deps {
		args = append(args, "-deps")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = filepath.Join("..", "..", module)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages of %s: %v\n%s", module, err, &complaints)
	}
	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("read what the go command says about %s: %v", module, err)
		}
		packages = append(packages, p)
	}
}

// under says whether a package is one of those listed, or below one that ends in a slash.
func under(importPath string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return importPath == strings.TrimSuffix(a, "/") || strings.HasSuffix(a, "/") && strings.HasPrefix(importPath, a)
	})
}

// standard says whether an import path is the standard library's: its first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func TestARCH1PurePackagesStayPure(t *testing.T) {
	// Of the standard library, what reaches outside the process, or waits.
	impure := []string{"os/", "io/fs", "io/ioutil", "net", "net/http/", "net/rpc/", "context", "log/", "math/rand/", "crypto/rand", "sync/", "syscall/", "unsafe", "database/", "runtime/"}
	tests := []struct {
		module, pkg string
		allowed     []string
	}{
		{"api", "api/snapshot", nil},
		{"api", "api/snapshot/render", []string{project + "api/snapshot"}},
		{"controlplane", "controlplane/internal/slots", []string{project + "api/snapshot"}},
		{"controlplane", "controlplane/internal/explain", []string{project + "api/snapshot"}}, // EXPL-2
		{"controlplane", "controlplane/internal/desired", []string{
			project + "api/snapshot/", project + "api/v1alpha1", project + "controlplane/internal/slots",
			"k8s.io/api/", "k8s.io/apimachinery/",
		}},
		{"dataplane-agent", "dataplane-agent/internal/plan", []string{project + "api/snapshot/"}},
	}
	for _, tt := range tests {
		t.Run(tt.pkg, func(t *testing.T) {
			packages := list(t, tt.module, false)
			i := slices.IndexFunc(packages, func(p pkg) bool { return p.ImportPath == project+tt.pkg })
			if i < 0 {
				t.Fatalf("the package %s is gone: does this test still name the pure packages?", tt.pkg)
			}
			for _, imported := range packages[i].Imports {
				if standard(imported) {
					if under(imported, impure) {
						t.Errorf("%s imports %s: a pure package does no I/O and knows no clock, context or lock", tt.pkg, imported)
					}
				} else if !under(imported, tt.allowed) {
					t.Errorf("%s imports %s: allowed are the standard library and %v", tt.pkg, imported, tt.allowed)
				}
			}
		})
	}
}

func TestARCH2AgentKnowsNoKubernetes(t *testing.T) {
	for _, p := range list(t, "dataplane-agent", true) {
		if under(p.ImportPath, []string{"k8s.io/", "sigs.k8s.io/"}) {
			t.Errorf("the agent is built from %s", p.ImportPath)
		}
	}
}

func TestARCH3DependenciesPointOneWay(t *testing.T) {
	allowed := map[string][]string{
		"proto":           {project + "proto/"},
		"api":             {project + "api/", project + "proto/"},
		"controlplane":    {project + "controlplane/", project + "api/", project + "proto/"},
		"dataplane-agent": {project + "dataplane-agent/", project + "api/", project + "proto/"},
	}
	for module, may := range allowed {
		t.Run(module, func(t *testing.T) {
			for _, p := range list(t, module, false) {
				for _, dep := range p.Deps {
					if strings.HasPrefix(dep, project) && !under(dep, may) {
						t.Errorf("%s depends on %s", p.ImportPath, dep)
					}
				}
				wire := strings.HasPrefix(p.ImportPath, project+"api/") && !under(p.ImportPath, []string{project + "api/wire/"})
				if wire && slices.ContainsFunc(p.Deps, func(d string) bool { return strings.HasPrefix(d, project+"proto/") }) {
					t.Errorf("%s depends on the protocol: only api/wire may", p.ImportPath)
				}
			}
		})
	}
}

func TestARCH4ProtocolNeedsOnlyGRPC(t *testing.T) {
	may := []string{project + "proto/", "google.golang.org/", "golang.org/x/"}
	for _, p := range list(t, "proto", true) {
		if !p.Standard && !under(p.ImportPath, may) {
			t.Errorf("the protocol's module is built from %s", p.ImportPath)
		}
	}
}
