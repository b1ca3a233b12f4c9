package snapshot

import (
	"crypto/sha256"
	"strings"
)

// Kind says what a resource of a Revision is.
type Kind uint8

// The kinds of a Revision's resources, in the order in which they are rendered.
const (
	KindSection Kind = iota + 1
	KindBackend
	KindMap
	KindMapEntry
	KindCertificate
	// kindTable is no resource of a Revision; it keeps tables in buckets of their own.
	kindTable
)

func (k Kind) String() string {
	switch k {
	case KindSection:
		return "section"
	case KindBackend:
		return "backend"
	case KindMap:
		return "map"
	case KindMapEntry:
		return "map entry"
	case KindCertificate:
		return "certificate"
	default:
		return "unknown kind"
	}
}

// Key names one resource of a Revision.
type Key struct {
	Kind Kind
	// Name is the section's "type name", the backend's, map's or certificate's name; of a map entry the map's name, a NUL and the entry's key.
	Name string
}

// EntryKey is the Key of one entry of a map.
func EntryKey(mapName, key string) Key { return Key{KindMapEntry, mapName + "\x00" + key} }

func (k Key) String() string { return k.Kind.String() + " " + strings.ReplaceAll(k.Name, "\x00", " ") }

// A Resource is one of *Section, *Backend, *Map, *MapEntry and *Certificate. Resources are never altered once they are in a Revision.
type Resource interface {
	Key() Key
	// write adds what the resource says, its key aside, to c.
	write(c *canonical)
}

// A Line is a list of words. Only the renderer quotes them, so no word can end its line or begin another word.
type Line []string

// Section is a part of the configuration that has no servers: global, defaults, frontend, peers, resolvers.
type Section struct {
	// Type is HAProxy's keyword, Name what follows it; global has none.
	Type, Name string
	Lines      []Line
}

// Backend is a HAProxy backend without its servers, which come from the slot table of the same name.
type Backend struct {
	Name string
	// Defaults names the defaults section that the backend is based on.
	Defaults string
	Lines    []Line
	// ServerOptions are the words that every server line of the backend ends with.
	ServerOptions []string
}

// Map says that there is a map of this name, so that it has a file even without entries. Its entries are resources of their own.
type Map struct{ Name string }

// MapEntry is one entry of a map. Keys and values hold no white space.
type MapEntry struct{ Map, Name, Value string }

// Certificate is a chain with its key, under the name of the object that it comes from.
type Certificate struct {
	Name string
	// ServerNames are the host names that it is shown to; a first label may be "*".
	ServerNames []string
	// Content is the SHA-256 of the PEM text. It stands for it in every digest, so a node that keeps the key in a file only has the same.
	Content Digest
	// PEM is chain and key. It is empty where only the digest is known.
	PEM []byte
}

// PEMDigest is the value of Certificate.Content for this text.
func PEMDigest(pem []byte) Digest { return sha256.Sum256(pem) }

func (s *Section) Key() Key     { return Key{KindSection, strings.TrimSuffix(s.Type+" "+s.Name, " ")} }
func (b *Backend) Key() Key     { return Key{KindBackend, b.Name} }
func (m *Map) Key() Key         { return Key{KindMap, m.Name} }
func (e *MapEntry) Key() Key    { return EntryKey(e.Map, e.Name) }
func (x *Certificate) Key() Key { return Key{KindCertificate, x.Name} }

func (s *Section) write(c *canonical) {
	c.str(s.Type) // the key alone does not tell where the type ends
	c.str(s.Name)
	c.lines(s.Lines)
}

func (b *Backend) write(c *canonical) {
	c.str(b.Defaults)
	c.lines(b.Lines)
	c.strs(b.ServerOptions)
}

func (m *Map) write(*canonical) {}

func (e *MapEntry) write(c *canonical) { c.str(e.Value) }

func (x *Certificate) write(c *canonical) {
	c.strs(x.ServerNames)
	c.str(string(x.Content[:]))
}

// ResourceDigest is what r adds to the digest of a Revision.
func ResourceDigest(r Resource) Digest {
	k := r.Key()
	c := canonical{b: make([]byte, 0, 256)}
	c.num(uint64(k.Kind))
	c.str(k.Name)
	r.write(&c)
	return c.digest()
}
