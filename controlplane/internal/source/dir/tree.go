package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-proxy/berth/controlplane/internal/source/manifest"
)

var errNotRegular = errors.New("is not a regular file")

// tree is what one walk found. Paths in it that are called rel are relative to the root, with slashes; all others are absolute
// and without symlinks.
type tree struct {
	root   string // the directory itself
	rootID ident

	entries map[string]entry  // files to read, by rel
	dirs    map[string]string // rel by directory, each once (DIR-7)
	faults  map[string]error  // what could not be looked into, by rel: nothing under it is known to be gone
	lost    map[string]error  // symlinks named as files whose file is not there, by rel: the link has to go for what it said to go

	volumes map[string]bool     // directories behind a link called ..data, as in kubelet's volumes
	links   map[string]string   // symlinks on the way to something with what stands in them, and what they lack: a change needs a walk
	targets map[string][]string // rel of the files behind a symlink, by file
	watch   map[string]bool     // directories where a change of any of this shows

	torn       bool // a symlink was swapped during the walk, which saw some files before that and some after
	unfinished bool // a volume of kubelet's has files whose links are yet to come
}

// entry is a file to read.
type entry struct {
	real  string
	link  bool // whether a symlink leads to it
	ident ident
	err   error // why it cannot be read
}

// walk lists the files under root. An error is about the root itself. Each directory is passed to watch before it is listed, so
// that what changes after the listing shows.
func walk(root string, limit int, watch func(dir string)) (*tree, error) {
	for attempt := 1; ; attempt++ {
		t, err := walkOnce(root, limit, watch)
		if err != nil || !t.torn || attempt == maxAttempts {
			return t, err
		}
	}
}

// maxAttempts bounds how often a walk is done again because symlinks are swapped meanwhile (DIR-6).
const maxAttempts = 5

// maxNames bounds how many names one walk looks at. A symlink that leads to the root of a disk must not have all of it read.
const maxNames = 250_000

func walkOnce(root string, limit int, watch func(dir string)) (*tree, error) {
	t := &tree{
		entries: map[string]entry{}, dirs: map[string]string{}, faults: map[string]error{}, lost: map[string]error{},
		volumes: map[string]bool{}, links: map[string]string{}, targets: map[string][]string{}, watch: map[string]bool{},
	}
	w := walker{tree: t, watch: watch, left: limit}
	at, err := w.follow("/", root)
	if err != nil {
		return nil, rootError(root, err)
	}
	info, err := os.Stat(at.real)
	if err != nil {
		return nil, rootError(root, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", root)
	}
	t.root, t.rootID = at.real, identOf(info)
	if err := w.visit(at.real, ""); err != nil {
		return nil, rootError(root, err)
	}
	if w.left < 0 {
		return nil, fmt.Errorf("directory %s has more than %d names under it, the last of them in %s: does a symlink lead out of it? Its last objects stay in force",
			root, limit, w.last)
	}
	t.torn = t.torn || t.moved()
	t.unfinished = t.lacksLinks()
	return t, nil
}

func rootError(root string, err error) error {
	if errors.Is(err, errNotThere) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s is not there", root)
	}
	return fmt.Errorf("directory %s cannot be read: %w", root, err)
}

type walker struct {
	*tree
	watch func(string)
	left  int    // how many more names may be looked at; negative when there were more
	last  string // the directory where that ended, as rel
}

// look notes that changes in a directory matter.
func (w *walker) look(dir string) {
	if !w.tree.watch[dir] {
		w.tree.watch[dir] = true
		w.watch(dir)
	}
}

// follow resolves a path and notes what it went through.
func (w *walker) follow(at, name string) (resolved, error) {
	r, err := resolve(at, name)
	for _, l := range r.links {
		if before, ok := w.links[l.path]; ok && before != l.target {
			w.torn = true
		}
		w.links[l.path] = l.target
		w.look(filepath.Dir(l.path))
	}
	if errors.Is(err, errNotThere) && len(r.links) > 0 {
		w.links[r.real] = ""
		w.look(filepath.Dir(r.real))
	}
	return r, err
}

// visit lists a directory. Its error is that of the directory itself.
func (w *walker) visit(dir, rel string) error {
	if _, twice := w.dirs[dir]; twice || w.left < 0 {
		return nil
	}
	w.look(dir)
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	w.dirs[dir] = rel
	if w.left -= len(list); w.left < 0 {
		w.last = rel
		return nil
	}
	for _, item := range list {
		if strings.HasPrefix(item.Name(), ".") {
			continue
		}
		itemRel := path.Join(rel, item.Name())
		switch {
		case item.Type()&fs.ModeSymlink != 0:
			w.link(dir, item.Name(), itemRel)
		case item.IsDir():
			w.descend(filepath.Join(dir, item.Name()), itemRel)
		case manifest.IsManifest(item.Name()):
			w.file(filepath.Join(dir, item.Name()), itemRel, false)
		}
	}
	return nil
}

func (w *walker) descend(dir, rel string) {
	// A directory that went between two looks is gone with all that was in it.
	if err := w.visit(dir, rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.faults[rel] = err
	}
}

// link takes what is behind a symlink under the symlink's name. A link that leads nowhere says nothing about what was behind it: a disk
// may be away. One to a file that is not there is no fault at once: kubelet takes a file from a volume first, and then its link.
func (w *walker) link(dir, name, rel string) {
	at, err := w.follow(dir, name)
	if errors.Is(err, errNotThere) {
		err = fmt.Errorf("%s is not there", at.real)
		if manifest.IsManifest(name) {
			w.lost[rel] = nowhere(err)
			return
		}
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(at.real)
	}
	switch {
	case err != nil:
		w.faults[rel] = nowhere(err)
	case info.IsDir():
		w.descend(at.real, rel)
	case manifest.IsManifest(name):
		w.targets[at.real] = append(w.targets[at.real], rel)
		w.look(filepath.Dir(at.real))
		if slices.ContainsFunc(at.links, func(l link) bool { return filepath.Base(l.path) == "..data" }) {
			w.volumes[filepath.Dir(at.real)] = true
		}
		w.file(at.real, rel, true)
	}
}

func nowhere(err error) error {
	return fmt.Errorf("the symlink leads nowhere, mend or remove it: %w", err)
}

func (w *walker) file(path, rel string, link bool) {
	e := entry{real: path, link: link}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		e.err = err
	case !info.Mode().IsRegular():
		e.err = errNotRegular
	default:
		e.ident = identOf(info)
	}
	w.entries[rel] = e
}

// moved says whether a symlink is no longer what it was during the walk.
func (t *tree) moved() bool {
	for path, before := range t.links {
		if target, err := os.Readlink(path); before != "" && (err != nil || target != before) {
			return true
		}
	}
	return false
}

// lacksLinks says that a volume has files that no symlink leads to. Kubelet makes the links of new files after the swap, so that
// an object that moved to a new file is nowhere to be seen for a moment.
func (t *tree) lacksLinks() bool {
	for dir := range t.volumes {
		list, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, item := range list {
			if item.Type().IsRegular() && manifest.IsManifest(item.Name()) && t.targets[filepath.Join(dir, item.Name())] == nil {
				return true
			}
		}
	}
	return false
}

// blind says that nobody could look at the place of a file.
func (t *tree) blind(rel string) bool {
	if t.lost[rel] != nil {
		return true
	}
	for ; rel != "."; rel = path.Dir(rel) {
		if t.faults[rel] != nil {
			return true
		}
	}
	return false
}
