package ctl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/source/dir"
	"github.com/berth-proxy/berth/controlplane/internal/store"
	"github.com/berth-proxy/berth/controlplane/internal/view"
)

// world is what directories say, compiled.
type world struct {
	compiler *compile.Compiler
	changes  []compile.FleetChange
	sources  []view.Source
}

// folder is a directory with the name that its objects have as a cluster.
type folder struct{ name, path string }

// folders reads the values of -f: [NAME=]DIR.
func folders(values []string) ([]folder, error) {
	var list []folder
	for _, v := range values {
		name, path, named := strings.Cut(v, "=")
		if !named || strings.Contains(name, string(filepath.Separator)) {
			name, path = dir.NameOf(v), v
		}
		if path == "" {
			return nil, misused("-f %q: give DIR or NAME=DIR", v)
		}
		// The name becomes a part of backends' names, except that of the first source.
		if err := source.CheckName(name); err != nil && (named || len(list) > 0) {
			return nil, misused("-f %q: %q cannot be the name of a cluster: %w; give NAME=DIR", v, name, err)
		}
		if slices.ContainsFunc(list, func(f folder) bool { return f.name == name }) {
			return nil, misused("-f %q: there are two sources with the name %s; give NAME=DIR", v, name)
		}
		list = append(list, folder{name, path})
	}
	return list, nil
}

// load reads the directories and compiles what they say, as a plane does that was given them as sources in this order.
func load(ctx context.Context, values []string) (*world, error) {
	list, err := folders(values)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.name
	}
	w := &world{compiler: compile.New(names[0], names[1:]...)}
	rows := store.New(names...)
	for _, f := range list {
		batch := f.read()
		rows.Apply(batch)
		w.sources = append(w.sources, view.Source{Name: f.name, Error: batch.State.Error})
	}
	changes, read, err := rows.Next(ctx)
	if err != nil {
		return nil, errors.New("interrupted")
	}
	w.changes = w.compiler.Compile(read, changes)
	return w, nil
}

// read is the first list of the source, empty if there is no such directory: the others are shown all the same (CTL-3).
func (f folder) read() source.Batch {
	loaded, err := dir.Load(f.name, f.path)
	if err == nil {
		return loaded
	}
	now := time.Now()
	return source.Batch{
		Source: f.name, Seen: now, Full: true,
		State: &source.State{Listed: true, StaleSince: now, Error: err.Error()},
	}
}

// fault is the error of a source that cannot be read whole, nil when all can.
func (w *world) fault() error { return sourceFault(w.sources) }

func sourceFault(sources []view.Source) error {
	var faults []string
	for _, s := range sources {
		if s.Error != "" {
			faults = append(faults, fmt.Sprintf("source %s cannot be read whole, and what it said there is missing or old: %s", s.Name, s.Error))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// state is what is wanted of a fleet, with the slots of an earlier output where there is one.
func (w *world) state(fleet string, previous *snapshot.Generation) view.State {
	at := previous.Version.Next(0)
	rev, delta := snapshot.EmptyRevision(), snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for _, change := range w.changes {
		if change.Fleet != fleet {
			continue
		}
		rev = rev.Apply(change.Revision, snapshot.Version{Number: 1})
		for name, b := range change.Endpoints {
			next, _, _ := slots.Assign(name, previous.Table(name), b.Endpoints, b.Policy, at)
			delta.Tables[name], _ = snapshot.DiffTables(nil, next)
		}
	}
	return view.State{
		Fleet: fleet, Home: w.compiler.Home(), Revision: rev, Generation: snapshot.EmptyGeneration().Apply(delta, at),
		Backends: w.compiler.Backends(fleet), Routes: w.compiler.Routes(fleet), Problems: w.compiler.Problems(fleet), Sources: w.sources,
	}
}
