package dir

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Load reads a directory once, as Run does, without waiting for files to come to rest: for commands that work offline. What could not be read
// is in the state of the batch; the error says that the directory itself cannot be read.
func Load(name, path string) (source.Batch, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return source.Batch{}, err
	}
	now := time.Now()
	r := newReader(name, root, Rescan, func(string) {})
	if r.walk(now); r.rootFault != nil {
		return source.Batch{}, errors.New(r.rootFault.text)
	}
	for _, rel := range slices.Sorted(maps.Keys(r.tree.entries)) {
		look, sure := r.inspect(rel, r.marks[rel], now)
		if !sure || !r.take(rel, look, now) {
			r.fail(rel, errMoved.Error()+" while it was being read", now)
		}
	}
	clear(r.marks)
	faults := r.faults(now.Add(patience)) // nobody waits for a symlink to be mended
	r.listed, r.synced = true, len(faults) == 0
	state := r.state(faults)
	b := source.Batch{Source: name, Seen: now, Full: true, State: &state}
	b.Put, b.Gone, b.Reports = r.index.flush()
	return b, nil
}
