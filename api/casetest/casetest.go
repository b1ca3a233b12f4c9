// Package casetest reads the cases of tests/testdata/cases: troubles that users of such systems have had, made small, with what must hold after
// each step. The README beside them has the format. Compiler, command line and the whole product are each put to all of them.
package casetest

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// fewest is how many cases there were when this was written: a test that finds fewer looks in the wrong place.
const fewest = 17

// Case is one trouble.
type Case struct {
	About string `json:"about"`
	Steps []Step `json:"steps"`
}

// Step is one state of the source, and what must hold in it.
type Step struct {
	// Apply names the file; Text is what is in it.
	Apply  string `json:"apply"`
	Text   []byte `json:"-"`
	Expect Expect `json:"expect"`
}

// Expect is what must hold after a step.
type Expect struct {
	// Revision is "unchanged", or says nothing.
	Revision string `json:"revision"`
	// Backends has the addresses in the slots of a service, by NAMESPACE/NAME:PORT.
	Backends map[string]Slots `json:"backends"`
	// SameSlots are addresses that must not have moved since the step before, and OtherSlot leads from a newcomer to the one whose slot it must not take.
	SameSlots []string          `json:"same_slots"`
	OtherSlot map[string]string `json:"other_slot"`
	Requests  []Request         `json:"requests"`
	// Rejected and Warned are objects, "Kind namespace/name".
	Rejected []string `json:"rejected"`
	Warned   []string `json:"warned"`
	// SourceError says that the source cannot be read whole.
	SourceError bool `json:"source_error"`
}

// Slots are the addresses of a service's pods, in no order.
type Slots struct {
	Ready []string `json:"ready"`
	Drain []string `json:"drain"`
}

// Request is a request with the service that must answer it, or the status.
type Request struct {
	URL     string `json:"url"`
	Backend string `json:"backend"`
	Status  int    `json:"status"`
}

// Each runs the test for each case. tests is the folder of the module tests, from that of the package under test.
func Each(t *testing.T, tests string, test func(t *testing.T, c Case)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tests, "testdata", "cases", "*", "case.yaml"))
	if err != nil || len(files) < fewest {
		t.Fatalf("%d cases below %s, %v", len(files), tests, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { test(t, read(t, file)) })
	}
}

func read(t *testing.T, file string) Case {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c Case
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Text, err = os.ReadFile(filepath.Join(filepath.Dir(file), s.Apply)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
