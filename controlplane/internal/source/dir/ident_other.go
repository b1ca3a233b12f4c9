//go:build !linux

package dir

import "io/fs"

// ident tells one content of a file from another without reading it, as well as size and time can.
type ident struct {
	device, inode uint64
	size          int64
	modified      int64 // nanoseconds since 1970, as is changed
	changed       int64
}

func identOf(info fs.FileInfo) ident {
	return ident{size: info.Size(), modified: info.ModTime().UnixNano()}
}
