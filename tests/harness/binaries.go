package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/berth-proxy/berth/tests/harness/claim"
)

// Root is the repository's folder: the one with go.work, above the test's.
func Root(t T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the repository: %v", err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
	}
	t.Fatalf("find the repository: no go.work above the working directory")
	return ""
}

var built struct {
	mu  sync.Mutex // guards dir; held while building, for who else asks has to wait for it
	dir string
}

// Binary returns the path of a product binary: from the folder that BERTH_BIN names, else built once for this process.
func Binary(t T, name string) string {
	t.Helper()
	if dir := os.Getenv("BERTH_BIN"); dir != "" {
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			t.Fatalf("BERTH_BIN=%s has no %s (run make build): %v", dir, name, err)
		}
		return path
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "berth-bin-")
		if err != nil {
			t.Fatalf("make a folder for the product's binaries: %v", err)
		}
		built.dir = dir
		for _, module := range []string{"controlplane", "dataplane-agent"} {
			build := exec.Command("go", "build", "-o", dir+"/", "./cmd/...")
			build.Dir = filepath.Join(Root(t), module)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build the commands of module %s: %v\n%s", module, err, out)
			}
		}
	}
	return filepath.Join(built.dir, name)
}

func removeBuilt() {
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
		built.dir = ""
	}
}

// HAProxy is a binary that tests run with.
type HAProxy struct {
	Label   string // old or new
	Path    string
	Version string // such as 3.4.7
}

var versionPattern = regexp.MustCompile(`(?i)haproxy version (\d+\.\d+[.\d]*)`)

// OldHAProxy returns the distribution's HAProxy: BERTH_TEST_HAPROXY_OLD, or haproxy in PATH.
func OldHAProxy(t T) HAProxy {
	t.Helper()
	return findHAProxy(t, "old", "BERTH_TEST_HAPROXY_OLD", "haproxy")
}

// NewHAProxy returns the newest HAProxy of the recipe: BERTH_TEST_HAPROXY_NEW, or build/haproxy-new/haproxy.
func NewHAProxy(t T) HAProxy {
	t.Helper()
	return findHAProxy(t, "new", "BERTH_TEST_HAPROXY_NEW", filepath.Join(Root(t), "build", "haproxy-new", "haproxy"))
}

func findHAProxy(t T, label, variable, otherwise string) HAProxy {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = otherwise
	}
	path, err := exec.LookPath(path)
	if err != nil {
		t.Fatalf("no %s HAProxy (run make setup, or set %s): %v", label, variable, err)
	}
	out, err := exec.Command(path, "-v").CombinedOutput()
	version := versionPattern.FindSubmatch(out)
	if err != nil || version == nil {
		t.Fatalf("ask %s for its version: %v: %s", path, err, out)
	}
	return HAProxy{Label: label, Path: path, Version: string(version[1])}
}

// ForEachHAProxy runs a test with the old and the new HAProxy, one after the other.
func ForEachHAProxy(t *testing.T, test func(t *testing.T, h HAProxy)) {
	t.Helper()
	for _, h := range []HAProxy{OldHAProxy(t), NewHAProxy(t)} {
		t.Run(fmt.Sprintf("haproxy-%s", h.Version), func(t *testing.T) { test(t, h) })
	}
}

// Port returns a free port that no other test process uses (see claim).
func Port(t T) int {
	t.Helper()
	block, err := claim.Mine()
	if err != nil {
		t.Fatalf("get a port: %v", err)
	}
	port, err := block.Port()
	if err != nil {
		t.Fatalf("get a port: %v", err)
	}
	return port
}
