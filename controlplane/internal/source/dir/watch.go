package dir

import (
	"os"
	"strings"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// watcher watches directories with fsnotify. It is for speed only: without it the walks find everything, later.
type watcher struct {
	notify *fsnotify.Watcher // nil when there is none to be had
	log    zerolog.Logger
	failed bool

	// What is watched, by path without symlinks and by what stands there.
	dirs  map[string]inode
	paths map[inode]string
}

// inode is a directory, whatever its path.
type inode struct{ device, number uint64 }

func newWatcher(log zerolog.Logger) *watcher {
	w := &watcher{log: log, dirs: map[string]inode{}, paths: map[inode]string{}}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.complain(err, "")
		return w
	}
	w.notify = notify
	return w
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

// events and errors are nil, and silent, without fsnotify.
func (w *watcher) events() chan fsnotify.Event {
	if w.notify == nil {
		return nil
	}
	return w.notify.Events
}

func (w *watcher) errors() chan error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

// close ends fsnotify's goroutine too.
func (w *watcher) close() {
	if w.notify == nil {
		return
	}
	if err := w.notify.Close(); err != nil {
		w.log.Warn().Err(err).Msg("closing the watches failed")
	}
}

// isRename tells a file that was renamed into place from one that was created there. fsnotify knows, by the kernel's cookie, but
// tells it in the text of the event only. Where it does not know, the file is given its time to rest.
func isRename(e fsnotify.Event) bool {
	return e.Has(fsnotify.Create) && strings.Contains(e.String(), `" ← "`)
}
