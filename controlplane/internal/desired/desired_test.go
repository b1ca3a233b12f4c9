package desired

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// read decodes one object from YAML.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatalf("the test's own YAML: %v\n%s", err, text)
	}
	return obj
}

// reasons joins the reasons of notes with their states, one a line.
func reasons(notes []Note) string {
	var lines []string
	for _, n := range notes {
		lines = append(lines, n.State.String()+": "+n.Reason)
	}
	return strings.Join(lines, "\n")
}

// holdsAll fails unless text has each of the parts.
func holdsAll(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s is %q, want %q in it", what, text, part)
		}
	}
}
