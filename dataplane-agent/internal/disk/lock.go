package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("it is in use by another process")

// Lock is an exclusive lock that ends with the process, or with Release. It is used by one goroutine at a time.
type Lock struct {
	path string
	file *os.File
}

// NewLock takes the lock.
func NewLock(path string) (*Lock, error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	return &Lock{path, f}, nil
}

func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // The path is one of the agent's own state directory.
	if errors.Is(err, syscall.EROFS) {
		f, err = os.Open(path) //nolint:gosec // As above. It can be locked all the same.
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w (%w)", err, ErrWrite)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return f, nil
}

// Hold sees to it that the lock is still the one that another process would find: somebody may have taken its file away. ErrLocked says that another process has
// locked a new one meanwhile. It costs little when the file is in its place.
func (l *Lock) Hold() error {
	ours, err := l.file.Stat()
	if err == nil {
		var theirs os.FileInfo
		if theirs, err = os.Stat(l.path); err == nil && os.SameFile(ours, theirs) {
			return nil
		}
	}
	if err := MakeDir(filepath.Dir(l.path)); err != nil {
		return err
	}
	f, err := lock(l.path)
	if err != nil {
		return err
	}
	_ = l.file.Close()
	l.file = f
	return nil
}

// Release ends the lock.
func (l *Lock) Release() { _ = l.file.Close() }
