package desired

import (
	"cmp"
	"time"
)

// Ref names a namespaced object of a source. The kind is plain from where it stands.
type Ref struct{ Cluster, Namespace, Name string }

// String is namespace/name, as people know it; the cluster is said beside it.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Age orders objects that want the same thing: the oldest has it. An object without a creation time counts as the youngest, ties go by namespace
// and name, and the same name in two clusters by the order of the sources on the command line.
type Age struct {
	Created time.Time
	Ref     Ref
	// Source is the place of the object's source on the command line.
	Source int
}

// Compare returns a negative number if a is older than b, a positive one if it is younger.
func (a Age) Compare(b Age) int {
	if a.Created.IsZero() != b.Created.IsZero() {
		if a.Created.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(
		a.Created.Compare(b.Created),
		cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
		cmp.Compare(a.Ref.Name, b.Ref.Name),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Ref.Cluster, b.Ref.Cluster),
	)
}

// State says how much of an object is in force.
type State uint8

// The states of an object that has a Problem.
const (
	// Warned: what is sound of it is served.
	Warned State = iota + 1
	// Rejected: what it asks for is closed.
	Rejected
)

func (s State) String() string {
	switch s {
	case Warned:
		return "warned"
	case Rejected:
		return "rejected"
	default:
		return "unknown"
	}
}

// Note is one thing that is wrong with an object, and what to do about it.
type Note struct {
	State  State
	Reason string
	// From and Until bound the time in which the note holds, where it is about time; zero is unbounded.
	From, Until time.Time
}

func warn(reason string) Note { return Note{State: Warned, Reason: reason} }

func reject(reason string) Note { return Note{State: Rejected, Reason: reason} }

// Holds says whether the note holds at a time.
func (n Note) Holds(at time.Time) bool {
	return (n.From.IsZero() || !at.Before(n.From)) && (n.Until.IsZero() || at.Before(n.Until))
}
