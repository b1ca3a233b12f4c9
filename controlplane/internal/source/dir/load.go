package dir

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Result is what a directory says, read once.
type Result struct {
	Rows     []source.Row
	Problems []source.Problem

	// Errors are the files and directories that could not be read, by place.
	Errors []Error

	batch source.Batch
}

// Error is a part of a directory that could not be read.
type Error struct {
	Place  string // relative to the directory
	Reason string
}

func (e Error) Error() string { return e.Place + ": " + e.Reason }

// Batch is the result as the first list of the source, for a store.
func (r Result) Batch() source.Batch { return r.batch }

// Load reads a directory once, as Run does, without waiting for files to come to rest: for commands that work offline. The error
// says that the directory itself cannot be read.
func Load(name, path string) (Result, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return Result{}, err
	}
	now := time.Now()
	r := newReader(name, root, Rescan, func(string) {})
	if r.walk(now); r.rootFault != nil {
		return Result{}, errors.New(r.rootFault.text)
	}
	for _, rel := range slices.Sorted(maps.Keys(r.tree.entries)) {
		look, sure := r.inspect(rel, r.marks[rel], now)
		if sure && !r.take(rel, look, now) {
			r.fail(rel, errMoved.Error()+" while it was being read", now)
		}
	}
	clear(r.marks)
	var result Result
	faults := r.faults(now.Add(patience)) // nobody waits for a symlink to be mended
	for _, place := range slices.Sorted(maps.Keys(faults)) {
		result.Errors = append(result.Errors, Error{Place: place, Reason: faults[place].text})
	}
	r.listed, r.synced = true, len(faults) == 0
	state := r.state(faults)
	b := source.Batch{Source: name, Seen: now, Full: true, State: &state}
	b.Put, b.Gone, b.Reports = r.index.flush()
	result.Rows, result.batch = b.Put, b
	for _, report := range b.Reports {
		result.Problems = append(result.Problems, report.Problems...)
	}
	return result, nil
}
