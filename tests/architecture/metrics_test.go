package architecture

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricInCode = regexp.MustCompile(`"(berth_[a-z_]+)"`)
	// A package that has only a metric or two registers them where they belong.
	metricOfAnother = regexp.MustCompile(`Name:\s+"(berth_[a-z_]+)"`)
	metricInText    = regexp.MustCompile(`\bberth_[a-z_]+`)
)

// named collects what a pattern finds in the files below some folders of the repository.
func named(t *testing.T, pattern *regexp.Regexp, wanted func(path string) bool, folders ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !wanted(path) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range pattern.FindAllSubmatch(text, -1) {
				found[string(m[len(m)-1])] = path
			}
			return err
		})
		if err != nil {
			t.Fatalf("look through %s: %v", folder, err)
		}
	}
	return found
}

// An alert on a metric that nobody has any more never fires, and nobody notices.
func TestARCH5MetricsThatAreNamedExist(t *testing.T) {
	registered := named(t, metricInCode, func(path string) bool {
		folder := filepath.Base(filepath.Dir(path))
		return (folder == "metrics" || strings.HasPrefix(filepath.Base(path), "metrics")) && !strings.HasSuffix(path, "_test.go")
	}, "controlplane/internal", "dataplane-agent/internal")
	maps.Copy(registered, named(t, metricOfAnother, func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
	}, "controlplane/internal", "dataplane-agent/internal"))
	if len(registered) == 0 {
		t.Fatal("no metric is registered: does this test still look in the right files?")
	}
	asked := named(t, metricInText, func(path string) bool { return !strings.HasSuffix(path, "README.md") }, "deploy/prometheus", "deploy/grafana")
	maps.Copy(asked, named(t, regexp.MustCompile("`(berth_[a-z_]+)[`{]"), func(path string) bool { return strings.HasSuffix(path, ".md") }, "docs"))
	for name, path := range asked {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if registered[base] == "" && !slices.Contains([]string{"berth_unavailable", "berth_probe"}, name) {
			t.Errorf("%s names the metric %s, which nobody registers", path, name)
		}
	}
	page := named(t, metricInText, func(path string) bool { return filepath.Base(path) == "debug.md" }, "docs")
	for name, path := range registered {
		if page[name] == "" {
			t.Errorf("%s registers %s, which docs/debug.md does not explain", path, name)
		}
	}
}
