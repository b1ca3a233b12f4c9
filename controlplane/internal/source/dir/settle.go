package dir

import "time"

// Rest is how long the size and time of a file must have stayed as they are before it is read (DIR-1).
const Rest = 20 * time.Millisecond

// Away is how long a file must have been gone before its objects go (DIR-1). It is longer than Rest, because who deletes one file after another is held up
// between two of them on a busy machine or a slow disk, and what goes in two steps is not seen to be half of a fleet (DIR-8).
const Away = 100 * time.Millisecond

// patience is how long changes that belong together wait for the last of them, and how long a file may be restless before the
// source complains.
const patience = time.Second

// mark is a file that may have changed and is not taken yet.
type mark struct {
	// seen is when the source saw the first of the changes that are waited for.
	seen time.Time

	// placed says that the file was put in its place whole, by a rename or by a symlink, so that there is nothing to wait for.
	placed bool

	// together says that the file is part of a swap and is taken with the other parts (DIR-6).
	together bool

	// real is where the file is, by what was known when it was marked. A symlink may have been swapped since.
	real string

	// missed says that a walk looked for the file and did not find it.
	missed bool

	// again is when to look again.
	again time.Time

	// last is what the file was when it was looked at last, and since when it has been that.
	last  sight
	since time.Time
}

// sight is what a look at a file shows.
type sight struct {
	there bool
	ident ident
	fault string // why it cannot be looked at
}

// settle takes another look into account, and says whether the file counts now or when to look again.
func (m *mark) settle(look sight, now time.Time) (ready bool, again time.Time) {
	if m.since.IsZero() || look != m.last {
		m.last, m.since = look, now
	}
	if m.placed && look.there {
		return true, now
	}
	again = m.since.Add(Rest)
	if !look.there && !m.together { // a swap does not wait for what is no longer in it
		again = m.since.Add(Away)
	}
	// The file's own time says more than how long we have been looking, unless it is in the future.
	modified := time.Unix(0, look.ident.modified)
	if rested := modified.Add(Rest); look.there && look.fault == "" && rested.Before(again) && !modified.After(now) {
		again = rested
	}
	return !again.After(now), again
}

// restless says that the file has not come to rest for so long that somebody should know.
func (m *mark) restless(now time.Time) bool { return !now.Before(m.seen.Add(patience)) }
