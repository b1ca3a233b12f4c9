package dir

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

var update = flag.Bool("update", false, "write what the flows give into their files")

// deadline is how long a flow waits for what it expects.
const deadline = 10 * time.Second

// recorder is a sink that holds what a store would.
type recorder struct {
	mu       sync.Mutex
	rows     map[source.Key]source.Object
	reports  map[string][]source.Problem
	state    source.State
	fulls    int
	gone     int            // how many rows went
	changes  [][]source.Key // the keys of each batch that changed rows
	arrived  chan struct{}  // closed and replaced by each batch
	misuse   []string
	lastSeen time.Time
}

func newRecorder() *recorder {
	return &recorder{rows: map[source.Key]source.Object{}, reports: map[string][]source.Problem{}, arrived: make(chan struct{})}
}

func (r *recorder) Deliver(b source.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkClusters(b)
	if b.Full {
		r.fulls++
		clear(r.rows)
		clear(r.reports)
	} else if r.fulls == 0 && len(b.Put)+len(b.Gone)+len(b.Reports) > 0 {
		r.misuse = append(r.misuse, "rows before the first full list")
	}
	var keys []source.Key
	for _, row := range b.Put {
		r.rows[row.Key] = row.Object
		keys = append(keys, row.Key)
	}
	for _, key := range b.Gone {
		if r.rows[key] == nil {
			r.misuse = append(r.misuse, key.String()+" is gone twice")
		}
		delete(r.rows, key)
		r.gone++
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		r.changes = append(r.changes, keys)
		r.lastSeen = b.Seen
	}
	for _, report := range b.Reports {
		r.reports[report.Origin] = report.Problems
	}
	if b.State != nil {
		r.state = *b.State
	}
	close(r.arrived)
	r.arrived = make(chan struct{})
}

// checkClusters holds SRC-5.
func (r *recorder) checkClusters(b source.Batch) {
	keys := slices.Clone(b.Gone)
	for _, row := range b.Put {
		keys = append(keys, row.Key)
	}
	for _, report := range b.Reports {
		for _, p := range report.Problems {
			keys = append(keys, p.Object)
		}
	}
	for _, k := range keys {
		if k.Cluster != b.Source {
			r.misuse = append(r.misuse, fmt.Sprintf("%s of cluster %q comes from source %q", k, k.Cluster, b.Source))
		}
	}
}

// text writes down the state as flows expect it.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "listed %t synced %t stale %t\n", r.state.Listed, r.state.Synced, !r.state.StaleSince.IsZero())
	if r.state.Error != "" {
		fmt.Fprintf(&b, "error %s\n", r.state.Error)
	}
	if r.state.Ignored != "" {
		fmt.Fprintf(&b, "forgotten %s\n", r.state.Ignored)
	}
	var lines []string
	for key, object := range r.rows {
		lines = append(lines, fmt.Sprintf("%s: %s\n", key, content(object)))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
	for _, origin := range slices.Sorted(maps.Keys(r.reports)) {
		for _, p := range r.reports[origin] {
			fmt.Fprintf(&b, "%s %s at %s: %s", p.Severity, p.Object, p.Place, p.Reason)
			if len(p.Hosts) > 0 {
				fmt.Fprintf(&b, " (claims %s)", strings.Join(p.Hosts, " "))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// content is the part of an object that the flows change.
func content(object source.Object) string {
	switch o := object.(type) {
	case *corev1.Service:
		var ports []int32
		for _, p := range o.Spec.Ports {
			ports = append(ports, p.Port)
		}
		return fmt.Sprint(ports)
	case *discoveryv1.EndpointSlice:
		var addresses []string
		for _, e := range o.Endpoints {
			addresses = append(addresses, e.Addresses...)
		}
		return fmt.Sprint(addresses)
	case *networkingv1.Ingress:
		var hosts []string
		for _, r := range o.Spec.Rules {
			hosts = append(hosts, r.Host)
		}
		return fmt.Sprint(hosts)
	case *corev1.Secret:
		return fmt.Sprint(slices.Sorted(maps.Keys(o.Data)))
	}
	return ""
}

// await waits until the state reads as wanted.
func (r *recorder) await(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(deadline)
	for {
		r.mu.Lock()
		arrived := r.arrived
		r.mu.Unlock()
		got := r.text()
		if got == want {
			return
		}
		select {
		case <-arrived:
		case <-timeout:
			t.Fatalf("after %v the source says\n%s\nwant\n%s", deadline, got, want)
		}
	}
}

func (r *recorder) batches() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.changes)
}

// rest waits until nothing has arrived for a while. Only -update and steps that expect no change need it.
func (r *recorder) rest(while time.Duration) {
	for {
		r.mu.Lock()
		arrived := r.arrived
		r.mu.Unlock()
		select {
		case <-arrived:
		case <-time.After(while):
			return
		}
	}
}

// run starts a source on a directory and has it ended with the test.
func run(t *testing.T, s *Source) *recorder {
	t.Helper()
	sink := newRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, sink) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, m := range sink.misuse {
			t.Errorf("the source %s", m)
		}
		if sink.fulls > 1 {
			t.Errorf("%d full lists", sink.fulls)
		}
	})
	return sink
}

// TestFlows runs the scripts in testdata/flows. Each begins with what it is about; then come steps:
//
//	put FILE PATH     rename the file of the script to its path
//	write FILE PATH   write it in place
//	rm PATH, mkdir PATH, mv OLD NEW
//	link TARGET PATH  make a symlink, or replace it in one step
//	start             start the source
//	want NAME         wait until the source says what NAME.want says
//	same              nothing arrives
//	batches N         between the last two of these, N batches changed rows
//	forget N          what cannot be read is forgotten, and N objects go
//	forget nothing    there is nothing to be forgotten
//	load NAME         the offline loader says what NAME.want says
func TestFlows(t *testing.T) {
	scripts, err := filepath.Glob("testdata/flows/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no flows: %v", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			t.Parallel()
			(&flow{script: script, root: filepath.Join(t.TempDir(), "objects")}).run(t)
		})
	}
}

type flow struct {
	script, root string
	archive      *txtar.Archive
	source       *Source
	sink         *recorder
	from, to     int // batches that changed rows when the last two waits were over
}

func (f *flow) run(t *testing.T) {
	archive, err := txtar.ParseFile(f.script)
	if err != nil {
		t.Fatal(err)
	}
	f.archive = archive
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f.step(t, strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if t.Failed() {
			t.Fatalf("at %q", line)
		}
	}
	if *update {
		if err := os.WriteFile(f.script, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *flow) step(t *testing.T, args []string) error {
	path := func(i int) string { return filepath.Join(f.root, args[i]) }
	switch args[0] {
	case "put":
		return put(path(2), f.file(t, args[1]))
	case "write":
		return os.WriteFile(path(2), []byte(f.file(t, args[1])), 0o644)
	case "rm":
		return os.RemoveAll(path(1))
	case "mkdir":
		return os.MkdirAll(path(1), 0o755)
	case "mv":
		return os.Rename(path(1), path(2))
	case "link":
		if err := os.Symlink(args[1], path(2)+".new"); err != nil {
			return err
		}
		return os.Rename(path(2)+".new", path(2))
	case "start":
		f.source = New("test", f.root, zerolog.Nop())
		f.sink = run(t, f.source)
		return nil
	case "forget":
		return f.forget(t, args[1])
	case "want":
		want := args[1] + ".want"
		if *update {
			f.sink.rest(2 * patience)
			f.set(want, f.sink.text())
		}
		f.sink.await(t, f.file(t, want))
		f.from, f.to = f.to, f.sink.batches()
		return nil
	case "same":
		before := f.sink.text()
		f.sink.rest(20 * Rest)
		f.from, f.to = f.to, f.sink.batches()
		if after := f.sink.text(); after != before {
			return fmt.Errorf("the source says\n%s\nand said\n%s", after, before)
		}
		return nil
	case "batches":
		if got := f.to - f.from; fmt.Sprint(got) != args[1] {
			return fmt.Errorf("%d batches changed rows: %v", got, f.sink.changes[f.from:f.to])
		}
		return nil
	case "load":
		name, got := args[1]+".want", f.load()
		if *update {
			f.set(name, got)
		}
		if want := f.file(t, name); got != want {
			return fmt.Errorf("the loader says\n%s\nwant\n%s", got, want)
		}
		return nil
	}
	return fmt.Errorf("no such step")
}

func (f *flow) load() string {
	batch, err := Load("test", f.root)
	if err != nil {
		return "error " + err.Error() + "\n"
	}
	sink := newRecorder()
	sink.Deliver(batch)
	return sink.text()
}

func (f *flow) file(t *testing.T, name string) string {
	for _, file := range f.archive.Files {
		if file.Name == name {
			return f.places().Replace(string(file.Data))
		}
	}
	t.Fatalf("the script has no file %s", name)
	return ""
}

// places stand in the files of a script for the directories of this run: ROOT is the source's, TOP the one around it.
func (f *flow) places() *strings.Replacer {
	return strings.NewReplacer("ROOT", f.root, "TOP", filepath.Dir(f.root))
}

func (f *flow) set(name, text string) {
	text = strings.NewReplacer(f.root, "ROOT", filepath.Dir(f.root), "TOP").Replace(text)
	for i := range f.archive.Files {
		if f.archive.Files[i].Name == name {
			f.archive.Files[i].Data = []byte(text)
			return
		}
	}
	f.archive.Files = append(f.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// put writes a file beside its place and renames it there.
func put(path, text string) error {
	temp := filepath.Join(filepath.Dir(path), ".put."+filepath.Base(path))
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
