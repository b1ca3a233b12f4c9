package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
)

const (
	// maxWaiting is how many updates may wait to be written before the whole state is written instead.
	maxWaiting = 256
	// minCompact is the least size of the appended records at which the file is written anew.
	minCompact = 1 << 20
	// retryEvery is how long a failed write waits.
	retryEvery = time.Second
	// lookEvery is how often the file is looked for.
	lookEvery = 10 * time.Second
)

// State is what a node holds.
type State struct {
	// Revision and Generation are the newest that a plane has sent. They are never nil.
	Revision   *snapshot.Revision
	Generation *snapshot.Generation
	// Running is the last revision that a worker has run, nil if none has.
	Running *snapshot.Revision
}

// Empty is the state of a node that has never heard of a plane.
func Empty() State {
	return State{Revision: snapshot.EmptyRevision(), Generation: snapshot.EmptyGeneration()}
}

// Journal is the file. Append, Run and Err may be called from any goroutine.
type Journal struct {
	path    string
	fleet   string
	problem error
	wake    chan struct{}

	// file, base and appended are Run's alone: the open file, the size of the whole state in it and that of the records behind it.
	file     *os.File
	base     int
	appended int

	// mu guards what follows. It is not held while writing.
	mu      sync.Mutex
	state   State
	waiting []any // wire.Update, or snapshot.Digest of the running revision
	rewrite bool
	err     error
	failed  chan struct{}
}

// Open reads the journal of a folder, which is made if it is missing, for a node of a fleet. It fails only if the folder cannot be used; a file that can be relied on in
// part or not at all is no reason not to start, see Problem, nor is one of another fleet, of which nothing is taken.
func Open(dir, fleet string) (*Journal, State, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, State{}, err
	}
	j := &Journal{fleet: fleet, path: filepath.Join(dir, "log"), wake: make(chan struct{}, 1), failed: make(chan struct{}, 1), rewrite: true}
	s, problem := j.read()
	if problem != nil && !errors.Is(problem, fs.ErrNotExist) {
		j.problem = fmt.Errorf("read journal %s: %w", j.path, problem)
	}
	j.state = s
	return j, s, nil
}

// read replays the file, record by record: what somebody has put in its place may wait for a writer for ever, or have no end.
func (j *Journal) read() (State, error) {
	f, err := os.OpenFile(j.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Empty(), err //nolint:wrapcheck // Open says what it was for.
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Empty(), fmt.Errorf("it is no regular file: %w", errBroken)
	}
	return replay(bufio.NewReaderSize(f, 1<<16), j.fleet)
}

// Gone says that there is no file, though nothing keeps it from being written.
func (j *Journal) Gone() bool {
	_, err := os.Lstat(j.path)
	return errors.Is(err, fs.ErrNotExist) && j.Err() == nil
}

// Foreign says that the file was another fleet's.
func (j *Journal) Foreign() bool { return errors.Is(j.problem, errForeign) }

// Problem says why a part of the file was not taken by Open, nil if all was.
func (j *Journal) Problem() error { return j.problem }

// Append adds an update that leads to the state. It returns at once.
func (j *Journal) Append(u wire.Update, to State) { j.add(u, to) }

// Running notes that a worker runs the state's Running revision, which must be its Revision.
func (j *Journal) Running(s State) { j.add(s.Running.Digest(), s) }

// Replace has the whole state written anew, for a change that is no update.
func (j *Journal) Replace(s State) {
	j.mu.Lock()
	j.state, j.rewrite, j.waiting = s, true, nil
	j.mu.Unlock()
	j.signal()
}

func (j *Journal) add(record any, to State) {
	j.mu.Lock()
	j.state = to
	if len(j.waiting) >= maxWaiting {
		j.rewrite, j.waiting = true, nil
	}
	if !j.rewrite {
		j.waiting = append(j.waiting, record)
	}
	j.mu.Unlock()
	j.signal()
}

func (j *Journal) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Err is why the last write failed, nil when the file is up to date or about to be. Changed is readable when it became another.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Changed is readable when Err has changed.
func (j *Journal) Changed() <-chan struct{} { return j.failed }

func (j *Journal) setErr(err error) {
	j.mu.Lock()
	changed := (j.err == nil) != (err == nil)
	j.err = err
	j.mu.Unlock()
	if changed {
		select {
		case j.failed <- struct{}{}:
		default:
		}
	}
}

// Run writes what is appended until ctx ends, and then what still waits.
func (j *Journal) Run(ctx context.Context) error {
	defer func() {
		if j.file != nil {
			_ = j.file.Close()
		}
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			j.write()
			return nil
		case <-j.wake:
		case <-retry:
		case <-look.C:
			if j.file == nil {
				continue
			}
		}
		retry = nil
		if j.write(); j.Err() != nil {
			retry = time.After(retryEvery)
		}
	}
}

// write brings the file up to date.
func (j *Journal) write() {
	j.mu.Lock()
	s, waiting, rewrite := j.state, j.waiting, j.rewrite
	j.waiting, j.rewrite = nil, false
	j.mu.Unlock()
	var err error
	rewrite = rewrite || j.file != nil && !j.inPlace()
	if !rewrite && j.file != nil {
		err = j.append(waiting)
	}
	if rewrite || j.file == nil || j.appended > max(minCompact, 2*j.base) {
		err = j.compact(s)
	}
	if err != nil {
		j.mu.Lock()
		j.rewrite, j.waiting = true, nil
		j.mu.Unlock()
	}
	j.setErr(err)
}

// inPlace says whether the open file is the one that the next start will read. Somebody may have removed it, or put another in its place.
func (j *Journal) inPlace() bool {
	ours, err := j.file.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(j.path)
	return err == nil && os.SameFile(ours, theirs) && theirs.Size() == int64(j.base+j.appended)
}

func (j *Journal) append(waiting []any) error {
	if len(waiting) == 0 {
		return nil
	}
	var b []byte
	var err error
	for _, record := range waiting {
		switch r := record.(type) {
		case wire.Update:
			if b, err = appendUpdate(b, r); err != nil {
				return err
			}
		case snapshot.Digest:
			b = appendRecord(b, recordRunning, r[:])
		}
	}
	if _, err = j.file.Write(b); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		_ = j.file.Close()
		j.file = nil
		return fmt.Errorf("append to journal %s: %w (%w)", j.path, err, disk.ErrWrite)
	}
	j.appended += len(b)
	return nil
}

// compact writes the whole state to a new file.
func (j *Journal) compact(s State) error {
	b, err := whole(s, j.fleet)
	if err != nil {
		return err
	}
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
	if err := disk.MakeDir(filepath.Dir(j.path)); err != nil {
		return err
	}
	if err := disk.Write(j.path, b, 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open journal %s: %w (%w)", j.path, err, disk.ErrWrite)
	}
	j.file, j.base, j.appended = f, len(b), 0
	return nil
}
