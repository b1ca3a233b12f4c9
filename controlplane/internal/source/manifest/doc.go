// Package manifest turns the bytes of a file of Kubernetes YAML or JSON into objects that are as the API would have stored them.
//
// The package is pure: bytes in, documents out. It owns the splitting of a file into documents, the limits on what a file may
// make this process do, and the words that tell people what is wrong with a document. It knows no directory and no other file,
// and remembers nothing.
//
// There are two kinds of failure, and all else follows from keeping them apart. A file that is not YAML (or JSON) at all is an
// error: nobody can tell what it says. In a file that is, each document stands for itself: one that does not decode or is not
// valid is rejected alone.
//
// Invariants:
//
//	MAN-1  Parse never panics, and takes time and memory in proportion to the size of the file, aliases or not.
//	MAN-2  Each document of a file, each item of a list, is either an object, or rejected with a reason, or of a kind that is not
//	       read. None is dropped in silence, but for documents with nothing in them.
//	MAN-3  A rejected document takes no other with it, and says what object it is about where that can be told.
//	MAN-4  An object that comes out is trimmed and admitted.
package manifest
