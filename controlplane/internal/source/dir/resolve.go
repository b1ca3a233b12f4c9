package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errNotThere says that a name was looked for in a directory that could be read, and is not there. Any other failure to find
// something is no proof that it is gone (DIR-2).
var errNotThere = errors.New("not there")

// maxLinks bounds the symlinks in one path, as the kernel does.
const maxLinks = 40

// resolved is where a path leads.
type resolved struct {
	// real is the path without symlinks. With errNotThere it is where the file would be.
	real string
	// links are the symlinks on the way.
	links []link
}

// link is a symlink by its path, without symlinks before it, and what stands in it.
type link struct{ path, target string }

// resolve follows the symlinks in name, which is looked up in the directory at, itself a path without symlinks. The kernel does
// the same, but does not tell which links it went through, and those are what has to be watched.
func resolve(at, name string) (resolved, error) {
	var r resolved
	steps := 0
	todo := strings.Split(filepath.Clean(name), "/")
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			at = filepath.Dir(at)
			continue
		}
		path := filepath.Join(at, part)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(todo) == 0:
			r.real = path
			return r, errNotThere
		case err != nil:
			return r, err
		case info.Mode()&fs.ModeSymlink == 0:
			at = path
			continue
		}
		if steps++; steps > maxLinks {
			return r, fmt.Errorf("%s: more than %d symlinks", path, maxLinks)
		}
		target, err := os.Readlink(path)
		if err != nil { // it was one a moment ago: look again
			todo = append([]string{part}, todo...)
			continue
		}
		r.links = append(r.links, link{path, target})
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	r.real = at
	return r, nil
}
