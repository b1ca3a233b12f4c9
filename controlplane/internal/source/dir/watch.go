package dir

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// watcher watches directories with fsnotify. It is for speed only: without it the walks find everything, later.
//
// A goroutine of its own takes events from fsnotify and merges them by path until Run asks for them. Run could not take them
// itself: fsnotify may hold its lock while it waits for somebody to take an error, and Run needs that lock to add a watch.
type watcher struct {
	notify *fsnotify.Watcher // nil when there is none to be had
	log    zerolog.Logger
	failed bool
	ended  chan struct{} // closed when the goroutine has ended

	// wake holds a token while something is to be taken.
	wake chan struct{}

	mu     sync.Mutex
	merged events

	// What is watched, by path without symlinks and by what stands there. These are Run's.
	dirs  map[string]inode
	paths map[inode]string
}

// events is what happened since it was last asked for.
type events struct {
	paths map[string]happening
	lost  error // why there may have been more; the whole tree has to be looked at
	seen  time.Time
}

// happening is what happened at one path: since when, and whether the last of it was that a file was renamed into place.
type happening struct {
	seen   time.Time
	placed bool
}

// maxEvents bounds how many paths are kept apart. A walk is cheaper then.
const maxEvents = 10_000

// inode is a directory, whatever its path.
type inode struct{ device, number uint64 }

func newWatcher(log zerolog.Logger) *watcher {
	w := &watcher{log: log, ended: make(chan struct{}), wake: make(chan struct{}, 1), dirs: map[string]inode{}, paths: map[inode]string{}}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.complain(err, "")
		close(w.ended)
		return w
	}
	w.notify = notify
	go w.merge()
	return w
}

// merge takes events until fsnotify is closed.
func (w *watcher) merge() {
	defer close(w.ended)
	for {
		select {
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.note(e, nil)
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.note(fsnotify.Event{}, err)
		}
	}
}

// note merges an event, or an error, which may stand for any number of events.
func (w *watcher) note(e fsnotify.Event, err error) {
	if e.Name == "" && err == nil {
		return // the last word about a watch that ended
	}
	now := time.Now()
	w.mu.Lock()
	if w.merged.seen.IsZero() {
		w.merged.seen = now
	}
	switch {
	case err != nil:
		w.merged.lost = err
	case len(w.merged.paths) >= maxEvents:
		w.merged.lost = fsnotify.ErrEventOverflow
	default:
		if w.merged.paths == nil {
			w.merged.paths = map[string]happening{}
		}
		h, ok := w.merged.paths[e.Name]
		if !ok {
			h.seen = now
		}
		h.placed = isRename(e)
		w.merged.paths[e.Name] = h
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take gives what happened since it was last called.
func (w *watcher) take() events {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.merged
	w.merged = events{}
	return taken
}

// complain says once that changes will be found by walking only; ten thousand directories would say it ten thousand times.
func (w *watcher) complain(err error, dir string) {
	if w.failed {
		return
	}
	w.failed = true
	w.log.Warn().Err(err).Str("directory", dir).Stringer("every", Rescan).
		Msg("directory cannot be watched (fs.inotify.max_user_watches?); changes are found by looking at all files instead")
}

// add watches a directory, also when something at its path is being watched: another directory may stand there by now. The kernel
// watches directories, not paths: one that was moved keeps its watch, and with it the path in all its events, unless that is
// ended first.
func (w *watcher) add(dir string) {
	if w.notify == nil {
		return
	}
	info, err := os.Stat(dir)
	if err != nil {
		return // it went; listing it says so
	}
	id := identOf(info)
	here := inode{id.device, id.inode}
	if before, ok := w.dirs[dir]; ok && before != here {
		w.end(dir)
	}
	if before, ok := w.paths[here]; ok && before != dir {
		w.end(before)
	}
	if err := w.notify.Add(dir); err != nil {
		w.complain(err, dir)
		return
	}
	w.dirs[dir], w.paths[here] = here, dir
}

func (w *watcher) end(dir string) {
	delete(w.paths, w.dirs[dir])
	delete(w.dirs, dir)
	// It fails when the directory is gone, and the watch with it.
	_ = w.notify.Remove(dir)
}

// only ends the watches on everything else.
func (w *watcher) only(dirs map[string]bool) {
	for dir := range w.dirs {
		if !dirs[dir] {
			w.end(dir)
		}
	}
}

// close ends the goroutine, and fsnotify's.
func (w *watcher) close() {
	if w.notify != nil {
		if err := w.notify.Close(); err != nil {
			w.log.Warn().Err(err).Msg("closing the watches failed")
		}
	}
	<-w.ended
}

// isRename tells a file that was renamed into place from one that was created there. fsnotify knows, by the kernel's cookie, but
// tells it in the text of the event only. Where it does not know, the file is given its time to rest.
func isRename(e fsnotify.Event) bool {
	return e.Has(fsnotify.Create) && strings.Contains(e.String(), `" ← "`)
}
