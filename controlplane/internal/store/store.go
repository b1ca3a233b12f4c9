package store

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	memdb "github.com/hashicorp/go-memdb"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Store is the tables and the changes that wait for the consumer. Any number of sources may deliver and any number of readers
// may read at once; one consumer calls Next.
type Store struct {
	db *memdb.MemDB

	// wake holds a token while changes wait: it is a level, not a queue.
	wake chan struct{}

	// mu is held over a commit and the merge of its changes, so that the consumer never sees one without the other (STORE-4).
	mu      sync.Mutex
	pending *pending
}

// Store is where sources deliver.
var _ source.Sink = (*Store)(nil)

// New gives a store that knows the names of its sources before the first of them has anything to say, so that nobody takes a
// source that is silent for one that is not there.
func New(sources ...string) *Store {
	db, err := memdb.NewMemDB(schema())
	if err != nil {
		panic("BUG: the schema of the store: " + err.Error())
	}
	s := &Store{db: db, wake: make(chan struct{}, 1), pending: newPending()}
	txn := db.Txn(true)
	for _, name := range sources {
		must(txn.Insert(tableSources, &Source{Name: name}))
	}
	txn.Commit()
	return s
}

// Deliver applies a batch of a source.
func (s *Store) Deliver(b source.Batch) { s.Apply(b) }

// Apply commits a batch as one transaction, wakes the consumer, and says what changed.
func (s *Store) Apply(b source.Batch) Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := writer{txn: s.db.Txn(true), batch: b, changed: newPending(), counts: map[source.Kind]int{}}
	w.rows()
	w.reports()
	w.source()
	w.txn.Commit()
	s.pending.merge(w.changed)
	if !s.pending.empty() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return w.changed.changes()
}

// Next waits until something has changed since it last returned, and gives the changes with the state that they lead to. It
// is for one consumer. The error is the context's.
func (s *Store) Next(ctx context.Context) (Changes, Read, error) {
	for {
		select {
		case <-ctx.Done():
			return Changes{}, Read{}, ctx.Err()
		case <-s.wake:
		}
		if changes, read, ok := s.take(); ok {
			return changes, read, nil
		}
	}
}

// take is false when what the token was for has been undone since.
func (s *Store) take() (Changes, Read, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending.empty() {
		return Changes{}, Read{}, false
	}
	taken := s.pending
	s.pending = newPending()
	return taken.changes(), s.Read(), true
}

// Read gives the state now, for as long as the reader likes.
func (s *Store) Read() Read { return Read{txn: s.db.Txn(false)} }

// writer applies one batch in one transaction.
type writer struct {
	txn     *memdb.Txn
	batch   source.Batch
	changed *pending
	counts  map[source.Kind]int // how many rows more there are of each kind
}

func (w *writer) rows() {
	if w.batch.Full {
		w.replaceRows()
		return
	}
	for _, row := range w.batch.Put {
		w.put(row, w.row(row.Key))
	}
	for _, gone := range w.batch.Gone {
		w.remove(gone, w.row(gone))
	}
}

// replaceRows makes the source's rows those of the batch. Sources that list again make new objects of the same content, and
// that is no change.
func (w *writer) replaceRows() {
	listed := make(map[source.Key]struct{}, len(w.batch.Put))
	for _, row := range w.batch.Put {
		listed[row.Key] = struct{}{}
		old := w.row(row.Key)
		if old == nil || !equality.Semantic.DeepEqual(old.Object, row.Object) {
			w.put(row, old)
		}
	}
	var gone []*source.Row
	for _, kind := range source.Kinds() {
		for old := range each[*source.Row](w.txn, string(kind), indexID+"_prefix", w.batch.Source) {
			if _, ok := listed[old.Key]; !ok {
				gone = append(gone, old)
			}
		}
	}
	for _, old := range gone {
		w.remove(old.Key, old)
	}
}

func (w *writer) row(k source.Key) *source.Row {
	if k.Cluster != w.batch.Source {
		panic("BUG: source " + w.batch.Source + " delivers " + k.String() + " of cluster " + k.Cluster)
	}
	return first[*source.Row](w.txn, string(k.Kind), indexID, k.Cluster, k.Namespace, k.Name)
}

func (w *writer) put(row source.Row, old *source.Row) {
	change := Change{Key: row.Key, Seen: w.batch.Seen, After: row.Object}
	if old != nil {
		change.Before = old.Object
	} else {
		w.counts[row.Kind]++
	}
	must(w.txn.Insert(string(row.Kind), &row))
	w.changed.add(change)
}

func (w *writer) remove(k source.Key, old *source.Row) {
	if old == nil {
		return
	}
	w.counts[k.Kind]--
	must(w.txn.Delete(string(k.Kind), old))
	w.changed.add(Change{Key: k, Seen: w.batch.Seen, Before: old.Object})
}

func (w *writer) reports() {
	said := make(map[string]struct{}, len(w.batch.Reports))
	for _, report := range w.batch.Reports {
		said[report.Origin] = struct{}{}
		w.report(report)
	}
	if !w.batch.Full {
		return
	}
	silent := map[string]struct{}{}
	for old := range each[*problem](w.txn, tableProblems, indexID+"_prefix", w.batch.Source) {
		if _, ok := said[old.origin]; !ok {
			silent[old.origin] = struct{}{}
		}
	}
	for origin := range silent {
		w.report(source.Report{Origin: origin})
	}
}

// report replaces what is said about one origin.
func (w *writer) report(r source.Report) {
	var old []*problem
	for p := range each[*problem](w.txn, tableProblems, indexOrigin, w.batch.Source, r.Origin) {
		old = append(old, p)
	}
	for i, p := range old {
		if i < len(r.Problems) && reflect.DeepEqual(p.Problem, r.Problems[i]) {
			continue
		}
		must(w.txn.Delete(tableProblems, p))
		w.concerns(p.Object)
	}
	for i, p := range r.Problems {
		if i < len(old) && reflect.DeepEqual(old[i].Problem, p) {
			continue
		}
		must(w.txn.Insert(tableProblems, &problem{source: w.batch.Source, origin: r.Origin, position: i, Problem: p}))
		w.concerns(p.Object)
	}
}

// concerns notes that what is said about an object changed. What is said about a document that does not name its object, or about
// a kind that has no rows, concerns the source.
func (w *writer) concerns(k source.Key) {
	if !slices.Contains(source.Kinds(), k.Kind) {
		w.changed.sources[w.batch.Source] = struct{}{}
		return
	}
	change := Change{Key: k, Seen: w.batch.Seen, Problems: true}
	if row := w.row(k); row != nil {
		change.Before, change.After = row.Object, row.Object
	}
	w.changed.add(change)
}

func (w *writer) source() {
	old := first[*Source](w.txn, tableSources, indexID, w.batch.Source)
	next := Source{Name: w.batch.Source}
	if old != nil {
		next = *old
	}
	if w.batch.State != nil && (old == nil || *w.batch.State != old.State) {
		next.State = *w.batch.State
		w.changed.sources[next.Name] = struct{}{}
	}
	if len(w.counts) > 0 {
		next.Rows = maps.Clone(next.Rows) // the old one is in the hands of readers
		if next.Rows == nil {
			next.Rows = map[source.Kind]int{}
		}
		for kind, more := range w.counts {
			next.Rows[kind] += more
		}
	}
	must(w.txn.Insert(tableSources, &next))
}

func must(err error) {
	if err != nil {
		panic("BUG: the store: " + err.Error())
	}
}
