package dir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
)

// What stands at a path, as far as events need to know.
type kind int

const (
	kindNone kind = iota
	kindFile
	kindOther
)

func kindOf(path string) kind {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return kindNone
	case info.Mode()&fs.ModeSymlink != 0 || info.IsDir():
		return kindOther
	}
	return kindFile
}

// inspect looks at a marked file. It is not sure when a symlink was swapped since the last walk, or when the file is not there for
// a reason that only a walk can tell.
func (r *reader) inspect(rel string, m *mark, now time.Time) (look sight, sure bool) {
	path := filepath.Join(r.root, rel)
	at, err := resolve("/", path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(at.real)
	}
	switch gone := errors.Is(err, errNotThere) || errors.Is(err, fs.ErrNotExist); {
	case gone && kindOf(path) == kindNone && (m.missed || errors.Is(err, errNotThere) && at.real == m.real):
		return sight{}, true
	case gone, err == nil && at.real != m.real:
		r.look(now)
		return sight{}, false
	case err != nil:
		return sight{there: true, fault: err.Error()}, true
	case !info.Mode().IsRegular():
		return sight{there: true, fault: errNotRegular.Error()}, true
	}
	m.missed = false
	return sight{there: true, ident: identOf(info)}, true
}

// take makes what a look found count. It is false when the file moved on meanwhile, and must be looked at again.
func (r *reader) take(rel string, look sight, now time.Time) bool {
	switch {
	case !look.there:
		if !r.rootStands() {
			r.look(now)
			return false
		}
		r.index.set(rel, nil)
		delete(r.files, rel)
		delete(r.broken, rel)
		return true
	case look.fault != "":
		r.known(rel).retry = true
		r.fail(rel, look.fault, now)
		return true
	}
	f := r.known(rel)
	if f.ident == look.ident && !f.racy && !f.retry {
		return true
	}
	return r.read(rel, f, look.ident, now)
}

// known gives what is known of a file, and where it is by the last walk.
func (r *reader) known(rel string) *file {
	f := r.files[rel]
	if f == nil {
		f = &file{}
		r.files[rel] = f
	}
	if e, ok := r.tree.entries[rel]; ok {
		f.real, f.link = e.real, e.link
	} else if f.real == "" {
		f.real = filepath.Join(r.tree.root, rel)
	}
	return f
}

func (r *reader) fail(rel, text string, now time.Time) {
	since := now
	if old, ok := r.broken[rel]; ok {
		since = old.since
	}
	r.broken[rel] = fault{text: text, since: since}
}

// read reads a file that should be as ident says, and has its content understood. It is false when the file is not as ident says.
func (r *reader) read(rel string, f *file, id ident, now time.Time) bool {
	data, err := readFile(filepath.Join(r.root, rel), id)
	if errors.Is(err, errMoved) {
		return false
	}
	f.ident, f.racy = id, now.Sub(time.Unix(0, id.modified)) < Rest
	f.retry = err != nil && !errors.Is(err, manifest.ErrTooLarge)
	if err != nil {
		r.fail(rel, err.Error(), now)
		return true
	}
	hash := sha256.Sum256(data)
	if hash == f.hash {
		delete(r.broken, rel)
		return true
	}
	docs, err := manifest.Parse(rel, data)
	if err != nil {
		r.fail(rel, err.Error(), now)
		return true
	}
	f.hash = hash
	delete(r.broken, rel)
	r.index.set(rel, docs)
	return true
}

// errMoved says that a file changed between two looks.
var errMoved = errors.New("the file changed")

// readFile reads a file of which the ident is known. It never waits, not for a pipe that somebody put there.
func readFile(path string, id ident) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // reading what stands there is what the source is for
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if err := sameFile(f, id); err != nil {
		return nil, err
	}
	if id.size > manifest.MaxFileSize {
		return nil, manifest.ErrTooLarge
	}
	data := make([]byte, id.size)
	if _, err := io.ReadFull(f, data); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, errMoved
	} else if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if err := sameFile(f, id); err != nil {
		return nil, err
	}
	return data, nil
}

func sameFile(f *os.File, id ident) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if identOf(info) != id {
		return errMoved
	}
	return nil
}
