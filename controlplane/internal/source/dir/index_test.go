package dir

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
)

// world is what a sink knows after some flushes.
type world struct {
	rows    map[source.Key]source.Object
	reports map[string][]source.Problem
}

func newWorld() *world {
	return &world{rows: map[source.Key]source.Object{}, reports: map[string][]source.Problem{}}
}

// take applies a flush, and complains about one that changes nothing (SRC-4).
func (w *world) take(t *rapid.T, x *index) {
	put, gone, reports := x.flush()
	for _, row := range put {
		if reflect.DeepEqual(w.rows[row.Key], row.Object) {
			t.Fatalf("%v is put as it was", row.Key)
		}
		w.rows[row.Key] = row.Object
	}
	for _, key := range gone {
		if w.rows[key] == nil {
			t.Fatalf("%v is gone and was not there", key)
		}
		delete(w.rows, key)
	}
	for _, report := range reports {
		if reflect.DeepEqual(w.reports[report.Origin], report.Problems) {
			t.Fatalf("the report on %s is as it was", report.Origin)
		}
		w.reports[report.Origin] = report.Problems
		if len(report.Problems) == 0 {
			delete(w.reports, report.Origin)
		}
	}
}

func parse(t interface{ Fatal(...any) }, text string) []manifest.Document {
	docs, err := manifest.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func serviceText(name string, port int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [{port: %d}]}\n---\n", name, port)
}

// DIR-4 and DIR-5: whatever files came, changed and went, in whatever order, the rows and reports are those of an index that is
// told the end state at once. (Rejected documents have a memory, and are left to the next test.)
func TestIndexForgetsItsPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, told, files := newIndex("c"), newWorld(), map[string]string{}
		file := rapid.SampledFrom([]string{"a.yaml", "b.yaml", "c/a.yaml"})
		document := rapid.Custom(func(t *rapid.T) string {
			if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
				return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n---\n"
			}
			return serviceText(rapid.SampledFrom([]string{"v", "w", "x"}).Draw(t, "name"), rapid.IntRange(1, 2).Draw(t, "port"))
		})
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := file.Draw(t, "file")
			text := "# nothing\n"
			for _, d := range rapid.SliceOfN(document, 0, 4).Draw(t, "documents") {
				text += d
			}
			if rapid.Bool().Draw(t, "remove") {
				x.set(name, nil)
				delete(files, name)
			} else {
				x.set(name, parse(t, text))
				files[name] = text
			}
			if rapid.Bool().Draw(t, "flush") {
				told.take(t, x)
			}
		}
		told.take(t, x)
		fresh, want := newIndex("c"), newWorld()
		for name, text := range files {
			fresh.set(name, parse(t, text))
		}
		want.take(t, fresh)
		if !reflect.DeepEqual(told.rows, want.rows) {
			t.Fatalf("rows %v, want %v", told.rows, want.rows)
		}
		// Which place of a kind was seen first is the one thing that the order may change.
		for _, w := range []*world{told, want} {
			for origin, problems := range w.reports {
				if problems[0].Severity == source.Skipped {
					w.reports[origin] = nil
				}
			}
		}
		if !reflect.DeepEqual(told.reports, want.reports) {
			t.Fatalf("reports %v, want %v", told.reports, want.reports)
		}
		if len(x.files) != len(fresh.files) || len(x.objects) != len(fresh.objects) || len(x.said) != len(fresh.said) {
			t.Fatalf("the index keeps %d files, %d objects and %d reports; needed are %d, %d and %d",
				len(x.files), len(x.objects), len(x.said), len(fresh.files), len(fresh.objects), len(fresh.said))
		}
	})
}

// DIR-3, in stories: what each file says, and the port that is in force then.
func TestLastAcceptedForm(t *testing.T) {
	const bad, nameless, nothing = 0, -1, -2
	type step struct {
		file  string
		ports []int // a document each
		want  int   // the port in force, or nothing
		said  []source.Severity
	}
	rejected, warned := source.Rejected, source.Warned
	tests := []struct {
		name  string
		steps []step
	}{
		{"a bad edit is no edit", []step{
			{"a.yaml", []int{1}, 1, nil}, {"a.yaml", []int{bad}, 1, []source.Severity{warned}}, {"a.yaml", []int{2}, 2, nil}}},
		{"bad from the start", []step{{"a.yaml", []int{bad}, nothing, []source.Severity{rejected}}, {"a.yaml", nil, nothing, nil}}},
		{"a rejected document goes with its file", []step{{"a.yaml", []int{1}, 1, nil}, {"a.yaml", []int{bad}, 1, []source.Severity{warned}}, {"a.yaml", nil, nothing, nil}}},
		{"a good document behind one that was never good", []step{
			{"a.yaml", []int{bad}, nothing, []source.Severity{rejected}}, {"b.yaml", []int{2}, 2, []source.Severity{warned}},
			{"b.yaml", []int{3}, 3, []source.Severity{warned}}}},
		{"a good document behind one that was good", []step{
			{"a.yaml", []int{1}, 1, nil}, {"b.yaml", []int{2}, 1, []source.Severity{warned}}, {"a.yaml", []int{bad}, 1, []source.Severity{warned, warned}},
			{"a.yaml", nil, 2, nil}}},
		{"the same within a file", []step{
			{"a.yaml", []int{bad, 2}, 2, []source.Severity{warned}}, {"a.yaml", []int{bad, 3}, 3, []source.Severity{warned}},
			{"a.yaml", []int{4, 3}, 4, []source.Severity{warned}}, {"a.yaml", []int{bad, 5}, 4, []source.Severity{warned, warned}}}},
		{"an edit that moves and breaks", []step{
			{"a.yaml", []int{1}, 1, nil}, {"b.yaml", []int{bad}, 1, []source.Severity{warned}}, {"a.yaml", nil, 1, []source.Severity{warned}},
			{"b.yaml", []int{6}, 6, nil}}},
		{"a document that lost its name", []step{
			{"a.yaml", []int{1}, 1, nil}, {"a.yaml", []int{nameless}, 1, []source.Severity{rejected, warned}},
			{"a.yaml", []int{nameless}, 1, []source.Severity{rejected, warned}}, {"a.yaml", []int{nameless, 2}, 2, []source.Severity{rejected}},
			{"a.yaml", nil, nothing, nil}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, told := newIndex("c"), newWorld()
			for i, s := range tt.steps {
				text := "# nothing\n"
				for _, port := range s.ports {
					if port == nameless {
						text += "apiVersion: v1\nkind: Service\nmetadata: {}\n---\n"
					} else {
						text += serviceText("web", port)
					}
				}
				docs := parse(t, text)
				if s.ports == nil {
					docs = nil
				}
				x.set(s.file, docs)
				put, gone, reports := x.flush()
				for _, row := range put {
					told.rows[row.Key] = row.Object
				}
				for _, key := range gone {
					delete(told.rows, key)
				}
				for _, r := range reports {
					told.reports[r.Origin] = r.Problems
				}
				if got, want := told.text(), fmt.Sprintf("[%d]", s.want); got != want && (s.want != nothing || got != "") {
					t.Errorf("step %d: in force is %s, want %s", i, got, want)
				}
				if got := told.severities(); !slices.Equal(got, s.said) {
					t.Errorf("step %d: said %v, want %v", i, got, s.said)
				}
			}
		})
	}
}

func (w *world) text() string {
	for _, object := range w.rows {
		return content(object)
	}
	return ""
}

func (w *world) severities() []source.Severity {
	var list []source.Severity
	for _, file := range []string{"a.yaml", "b.yaml"} {
		for _, p := range w.reports[file] {
			list = append(list, p.Severity)
		}
	}
	return list
}

// A source delivers objects that nobody may change, itself included (SRC-1): a new form of an object is a new object.
func TestDeliveredObjectsStay(t *testing.T) {
	x := newIndex("c")
	x.set("a.yaml", parse(t, serviceText("web", 1)))
	put, _, _ := x.flush()
	first, before := put[0].Object, put[0].Object.DeepCopyObject()
	x.set("a.yaml", parse(t, serviceText("web", 2)))
	put, _, _ = x.flush()
	if put[0].Object == first || !reflect.DeepEqual(first, before) {
		t.Errorf("the delivered object became %v, was %v", first, before)
	}
}
