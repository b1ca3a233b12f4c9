package dir

import (
	"io/fs"
	"syscall"
)

// ident tells one content of a file from another without reading it. The change time is in it because the modification time can
// be set back, and tools that copy do so.
type ident struct {
	device, inode uint64
	size          int64
	modified      int64 // nanoseconds since 1970, as is changed
	changed       int64
}

func identOf(info fs.FileInfo) ident {
	id := ident{size: info.Size(), modified: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id.device, id.inode, id.changed = stat.Dev, stat.Ino, stat.Ctim.Nano()
	}
	return id
}
