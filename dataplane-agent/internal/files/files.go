// Package files puts a state onto the node's disk as HAProxy reads it: a candidate that is only checked, and the configuration in force.
//
//	FILES-1  What is in force is replaced file by file, each whole, the configuration last: every file that it names is there before.
//	FILES-2  A candidate never touches what is in force.
//	FILES-3  A configuration in force always holds the slot tables that it was given, never older ones (P1).
package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
)

// candidateFolder holds the candidate, below the state directory.
const candidateFolder = "next"

// LongestSocket is the longest path that a configuration gives a socket, relative to the state directory: it is the candidate's.
const LongestSocket = candidateFolder + "/" + render.WorkerSocket

// Writer writes into one state directory. It is immutable, but two writes at once would mix: its user makes sure of that.
type Writer struct {
	settings render.Settings
	// anew has the socket's path spelled in another way.
	anew bool
}

// New returns a Writer for these settings, whose StateDir must be absolute.
func New(s render.Settings) Writer {
	s.IPv4Only = s.BindAddress == "" && !haveIPv6()
	return Writer{settings: s}
}

// Config is the path of the configuration in force.
func (w Writer) Config() string { return filepath.Join(w.settings.StateDir, render.ConfigFile) }

// Socket is the path of the worker's runtime socket.
func (w Writer) Socket() string { return filepath.Join(w.settings.StateDir, render.WorkerSocket) }

// Anew is a Writer whose configurations have the next worker make its runtime socket anew, as its file is gone: a worker takes over the socket that it knows by
// the same path from the one before, with a name that leads nowhere, and makes one that it knows by another.
func (w Writer) Anew() Writer {
	w.anew = !w.anew
	return w
}

// machine is what the configurations owe to this node, for a folder.
func (w Writer) machine(folder string, rev *snapshot.Revision) render.Machine {
	m := render.NodeMachine(w.settings, folder, rev)
	for i, line := range m.Global {
		switch {
		case line[0] == "description":
			m.Global[i] = snapshot.Line{"description", w.Description(rev)}
		case w.anew && len(line) > 2 && line[0] == "stats" && line[1] == "socket":
			m.Global[i] = append(snapshot.Line{"stats", "socket", folder + "/./" + render.WorkerSocket}, line[3:]...)
		}
	}
	return m
}

// Description is what a worker says of itself that was started with this structure, on this node with its present settings. The structure's comes first.
func (w Writer) Description(rev *snapshot.Revision) string {
	s := w.settings
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %v %d %d", s.HTTPPort, s.HTTPSPort, s.BindAddress, s.IPv4Only, s.MaxConn, s.Threads))
	return render.Description(rev.StructureDigest()) + " machine " + hex.EncodeToString(sum[:6])
}

// ours is how the line begins that every configuration of an agent has.
var ours = []byte("description '" + strings.TrimSuffix(render.Description(snapshot.Digest{}), snapshot.Digest{}.String()))

// Ours says whether there is a configuration in force, and an agent has written it.
func (w Writer) Ours() bool {
	text, err := os.ReadFile(w.Config())
	return err == nil && bytes.Contains(text, ours)
}

// WriteCandidate writes a state where HAProxy can check it, and returns the path of its configuration.
func (w Writer) WriteCandidate(rev *snapshot.Revision, gen *snapshot.Generation) (string, error) {
	dir := filepath.Join(w.settings.StateDir, candidateFolder)
	rendered, err := render.Files(rev, gen, w.machine(dir, rev))
	if err != nil {
		return "", fmt.Errorf("render revision %s: %w", rev.Digest().Short(), err)
	}
	for name, text := range rendered {
		path := filepath.Join(dir, name)
		if err := disk.MakeDir(filepath.Dir(path)); err != nil {
			return "", err
		}
		// No sync: a candidate that a crash takes away is written again.
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", fmt.Errorf("write the candidate %s: %w (%w)", path, err, disk.ErrWrite)
		}
	}
	return filepath.Join(dir, render.ConfigFile), nil
}

// Write puts a state in force: the next start or reload of HAProxy reads it. It returns the files that did not say so already.
func (w Writer) Write(rev *snapshot.Revision, gen *snapshot.Generation) (written []string, err error) {
	rendered, err := render.Files(rev, gen, w.machine(w.settings.StateDir, rev))
	if err != nil {
		return nil, fmt.Errorf("render revision %s: %w", rev.Digest().Short(), err)
	}
	names := slices.Sorted(maps.Keys(rendered))
	slices.SortStableFunc(names, func(a, b string) int { return last(a) - last(b) })
	for _, name := range names {
		path := filepath.Join(w.settings.StateDir, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, rendered[name]) { //nolint:gosec // The path is one of the agent's own state directory.
			continue
		}
		if err := disk.MakeDir(filepath.Dir(path)); err != nil {
			return written, err
		}
		if err := disk.Write(path, rendered[name], 0o600); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}

func last(name string) int {
	if name == render.ConfigFile {
		return 1
	}
	return 0
}

// haveIPv6 says whether the machine can listen on "::".
func haveIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
