package snapshot

import (
	"cmp"
	"fmt"
)

// Version orders the values of one clock of one fleet. The epoch is raised by a plane that takes over and is never read from a clock,
// so a plane that starts with nothing cannot be mistaken for an older one. The zero Version is older than every other.
type Version struct {
	Epoch  uint64
	Number uint64
}

// Compare returns -1 if v is older than w, 1 if it is newer and 0 if they are the same.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, w.Epoch), cmp.Compare(v.Number, w.Number))
}

// Next is the version after v in the given epoch; the number goes on over a change of epoch.
func (v Version) Next(epoch uint64) Version {
	return Version{Epoch: max(epoch, v.Epoch), Number: v.Number + 1}
}

// IsZero says whether nothing has been published under this version.
func (v Version) IsZero() bool { return v == Version{} }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Number) }
