package slots

import "github.com/berth-proxy/berth/api/snapshot"

// minSurge is how many slots more than endpoints a table has at least: one for a pod that comes before its predecessor goes, and one for
// the next while the first predecessor still drains.
const minSurge = 2

// A Policy says how many slots a table has beyond what its endpoints need. The zero Policy reserves two.
type Policy struct {
	// Minimum is the least length of a table.
	Minimum int
	// SurgePercent is how many more endpoints than now, in hundredths, have a place without a longer table.
	SurgePercent int
}

// Size is the length that a table of this many endpoints that take traffic is made with: the policy's, rounded up to a size class, so that a
// growing service passes few lengths and the same ones everywhere.
func Size(ready int, p Policy) int {
	return class(max(ready+max(minSurge, ready*p.SurgePercent/100), p.Minimum))
}

// class rounds up to 4, 8, 12, 16, and from there to 24, 32, 48, 64, 96, 128 and so on: a power of two or one and a half times one.
func class(n int) int {
	if n > snapshot.MaxSlots {
		return snapshot.MaxSlots
	}
	if n <= 16 {
		return max(4, (n+3)/4*4)
	}
	for c := 16; ; c *= 2 {
		switch {
		case n <= c+c/2:
			return c + c/2
		case n <= 2*c:
			return 2 * c
		}
	}
}

// Shrink returns a shorter table where one is due, for the steps in which nodes reload anyway. It cuts free slots off the end only, and
// only where the right size for the endpoints that the table holds is at most half of its length, so that a service that breathes does not
// make its table breathe with it. at is the generation that the step will be.
func Shrink(prev *snapshot.Table, p Policy, at snapshot.Version) (next *snapshot.Table, delta snapshot.TableDelta, changed bool) {
	ready, taken := 0, 0
	for i, s := range prev.Slots {
		if s.State == snapshot.Ready {
			ready++
		}
		if s.State != snapshot.Free {
			taken = i + 1
		}
	}
	size := Size(ready, p)
	length := class(max(size, taken))
	if 2*size > len(prev.Slots) || length >= len(prev.Slots) {
		return prev, snapshot.TableDelta{}, false
	}
	next = &snapshot.Table{Backend: prev.Backend, Version: at, Slots: prev.Slots[:length:length]}
	delta, changed = snapshot.DiffTables(prev, next)
	return next, delta, changed
}
