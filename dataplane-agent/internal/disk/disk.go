// Package disk writes files so that a reader, and a start after a crash, finds the old content or the new one and never a part of it.
//
//	DISK-1  A file is written beside its place, synced, renamed into place, and the folder is synced.
//	DISK-2  A write that fails leaves the old file as it was and nothing beside it. What a killed process has left there goes at the next start.
//	DISK-3  The same trouble has the same text each time it is met, so that it is told once.
//	DISK-4  A lock is held by one process, also when somebody has removed its file: who held it first puts it back, or learns that another has it.
package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrWrite is in the chain of every error of this package: the node's surroundings are at fault, not what was to be written.
var ErrWrite = errors.New("the state directory cannot be written")

// Write puts data at path with the given mode.
func Write(path string, data []byte, mode fs.FileMode) (err error) {
	wrap := func(err error) error { return fmt.Errorf("write %s: %w (%w)", path, cause(err), ErrWrite) }
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+unfinished)
	if err != nil {
		return wrap(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = Sync(filepath.Dir(path))
	}
	if err != nil {
		return wrap(err)
	}
	return nil
}

// unfinished is how the names of files end that are being written.
const unfinished = ".unfinished"

// cause is an error without the name of the file that was written beside the place: no two writes have the same.
func cause(err error) error {
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	switch {
	case errors.As(err, &ofPath):
		return ofPath.Err
	case errors.As(err, &ofLink):
		return ofLink.Err
	}
	return err
}

// Sweep removes what a process that was killed while it wrote has left in a folder and in the folders in it: it may hold private keys. Nobody may
// be writing there.
func Sweep(dir string) error {
	folders, err := os.ReadDir(dir)
	errs := []error{err, sweep(dir)}
	for _, f := range folders {
		if f.IsDir() {
			errs = append(errs, sweep(filepath.Join(dir, f.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove unfinished files: %w (%w)", err, ErrWrite)
	}
	return nil
}

func sweep(dir string) error {
	files, err := os.ReadDir(dir)
	errs := []error{err}
	for _, f := range files {
		if f.Type().IsRegular() && strings.HasPrefix(f.Name(), ".") && strings.HasSuffix(f.Name(), unfinished) {
			errs = append(errs, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return errors.Join(errs...) //nolint:wrapcheck // The caller says what was tried.
}

// WriteChanged is Write that leaves a file alone that holds data already.
func WriteChanged(path string, data []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) { //nolint:gosec // The path is one of the agent's own state directory.
		return nil
	}
	return Write(path, data, mode)
}

// Sync makes the names in a folder last.
func Sync(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return fmt.Errorf("sync folder %s: %w (%w)", dir, err, ErrWrite)
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync folder %s: %w (%w)", dir, err, ErrWrite)
	}
	return nil
}

// Writable says why a folder cannot be written, nil if it can.
func Writable(dir string) error {
	f, err := os.CreateTemp(dir, ".*"+unfinished)
	if err != nil {
		return fmt.Errorf("write into %s: %w (%w)", dir, cause(err), ErrWrite)
	}
	_, err = f.Write([]byte{0})
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if err != nil {
		return fmt.Errorf("write into %s: %w (%w)", dir, cause(err), ErrWrite)
	}
	return nil
}

// MakeDir makes a folder that only the agent's user may enter.
func MakeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make folder %s: %w (%w)", path, err, ErrWrite)
	}
	return nil
}
