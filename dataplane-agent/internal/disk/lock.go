package disk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("it is in use by another process")

// Lock takes an exclusive lock that ends with the process, or with the function that it returns.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return nil, fmt.Errorf("open lock: %w (%w)", err, ErrWrite)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return func() { _ = f.Close() }, nil
}
