package dir

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// reader turns looks at the directory into batches. It is owned by one goroutine, is told the time, and waits for nothing: pass
// does what can be done now, and leaves in next when there will be more to do.
type reader struct {
	name, root string
	rescan     time.Duration
	limit      int // of names in the tree
	watch      func(dir string)

	tree  *tree            // of the last walk that succeeded, nil before
	files map[string]*file // what is known of each file, by rel
	marks map[string]*mark // the files to look at, by rel
	index *index

	walkAt   time.Time // when to walk next
	walkSeen time.Time // when the source saw what that walk is for, zero when it is for nothing but the time
	calm     time.Time // no walk before, so that a storm of events costs half of the time at most

	rootFault *fault
	broken    map[string]fault     // files that cannot be read or parsed
	blind     map[string]time.Time // since when what tree.faults has cannot be looked into
	lost      map[string]time.Time // since when what tree.lost has is not there

	forgotten map[string]fault // what an operator said counts as deleted, and when, by place; as long as the fault is the same
	bare      time.Time        // when an operator said that having no object is meant; zero when nobody did, or since there is one

	begun          time.Time // when the root was first found
	listed, synced bool
	told           source.State

	next time.Time // when pass has something to do again
}

// file is what is known of a file that counts.
type file struct {
	real  string
	link  bool
	ident ident
	hash  [32]byte // of the content that was last understood
	racy  bool     // it was read so soon after it was written that a later write may have left the same ident
	retry bool     // it could not be read, for reasons that its ident does not show
}

// fault is why a file or a directory cannot be read, and since when.
type fault struct {
	text  string
	since time.Time
}

func newReader(name, root string, rescan time.Duration, watch func(string)) *reader {
	return &reader{
		name: name, root: root, rescan: rescan, limit: maxNames, watch: watch,
		files: map[string]*file{}, marks: map[string]*mark{}, index: newIndex(name),
		broken: map[string]fault{}, blind: map[string]time.Time{}, lost: map[string]time.Time{},
		forgotten: map[string]fault{},
	}
}

// look asks for a walk, for something that was seen now.
func (r *reader) look(now time.Time) {
	if r.walkSeen.IsZero() {
		r.walkSeen = now
	}
	at := now
	if r.calm.After(at) {
		at = r.calm
	}
	if at.Before(r.walkAt) {
		r.walkAt = at
	}
}

// pass does what is due. The batch is nil when there is nothing to deliver; the tree is nil when there was no walk.
func (r *reader) pass(now time.Time) (*source.Batch, *tree) {
	var walked *tree
	if !now.Before(r.walkAt) {
		walked = r.walk(now)
	}
	b := source.Batch{Source: r.name, Seen: r.settle(now)}
	faults := r.unforgotten(r.faults(now))
	if !r.listed && r.complete(now) {
		r.listed, b.Full, b.Seen = true, true, r.begun
	}
	if r.listed {
		r.synced = r.synced || len(faults) == 0
		b.Put, b.Gone, b.Reports = r.index.flush()
		if len(b.Put) > 0 {
			r.bare = time.Time{}
		}
	}
	if state := r.state(faults); state != r.told {
		r.told = state
		b.State = &state
	}
	r.plan(now)
	if !b.Full && b.State == nil && len(b.Put)+len(b.Gone)+len(b.Reports) == 0 {
		return nil, walked
	}
	return &b, walked
}

// complete says whether the first list is in: what is there has been read, or had its time.
func (r *reader) complete(now time.Time) bool {
	if r.rootFault != nil || r.tree == nil {
		return false
	}
	return len(r.marks) == 0 && len(r.lost) == 0 || !now.Before(r.begun.Add(patience))
}

// settle looks at every marked file, takes those that count, and gives the earliest time at which one of them was seen to change.
func (r *reader) settle(now time.Time) time.Time {
	seen := now
	ready := map[string]sight{}
	waiting := false
	var leaving time.Time // when the last of the files that are gone will have been gone for long enough
	late := false         // one of them has waited for the others for long enough
	for rel, m := range r.marks {
		look, sure := r.inspect(rel, m, now)
		if !sure {
			m.again = now.Add(Rest)
			continue
		}
		var ok bool
		if ok, m.again = m.settle(look, now); ok {
			ready[rel] = look
		} else if !look.there && m.again.After(leaving) {
			leaving = m.again
		}
		late = late || !look.there && m.restless(now)
		if m.together && !m.restless(now) && (!ok || r.tree.unfinished || r.losing(now)) {
			waiting = true
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(ready)) {
		m := r.marks[rel]
		if m.together && waiting {
			m.again = m.seen.Add(patience) // the part that is waited for comes earlier
			continue
		}
		if !ready[rel].there && now.Before(leaving) && !late {
			m.again = leaving // what goes one after another goes in one step
			continue
		}
		if !r.take(rel, ready[rel], now) {
			m.placed, m.again = false, now.Add(Rest)
			continue
		}
		delete(r.marks, rel)
		if m.seen.Before(seen) {
			seen = m.seen
		}
	}
	return seen
}

// losing says that a file went a moment ago from where a symlink leads. If it went with a swap, the symlink is about to go, too.
func (r *reader) losing(now time.Time) bool {
	for _, since := range r.lost {
		if now.Before(since.Add(patience)) {
			return true
		}
	}
	return false
}

// faults lists everything that cannot be read, by place.
func (r *reader) faults(now time.Time) map[string]fault {
	list := maps.Clone(r.broken)
	if r.rootFault != nil {
		list[""] = *r.rootFault
	}
	for rel, since := range r.blind {
		list[rel] = fault{text: r.tree.faults[rel].Error(), since: since}
	}
	for rel, since := range r.lost {
		if !now.Before(since.Add(patience)) {
			list[rel] = fault{text: r.tree.lost[rel].Error(), since: since}
		}
	}
	for rel, m := range r.marks {
		if _, ok := list[rel]; !ok && m.restless(now) {
			list[rel] = fault{text: "is being written to without rest; it is read when it has been left alone for " + Rest.String(), since: m.seen}
		}
	}
	return list
}

// maxFaults bounds how many faults a state names.
const maxFaults = 3

func (r *reader) state(faults map[string]fault) source.State {
	state := source.State{Listed: r.listed, Synced: r.synced}
	for _, f := range faults {
		if state.StaleSince.IsZero() || f.since.Before(state.StaleSince) {
			state.StaleSince = f.since
		}
	}
	state.Error = worded(faults)
	for _, f := range r.forgotten {
		if state.Forgotten.IsZero() || f.since.Before(state.Forgotten) {
			state.Forgotten = f.since
		}
	}
	state.Ignored = worded(r.forgotten)
	if !r.bare.IsZero() && state.Forgotten.IsZero() {
		state.Forgotten, state.Ignored = r.bare, "it has no object"
	}
	return state
}

// worded names the first of some faults, by place.
func worded(faults map[string]fault) string {
	var texts []string
	for _, place := range slices.Sorted(maps.Keys(faults)) {
		text := faults[place].text
		if place != "" {
			text = printable(place) + ": " + text
		}
		texts = append(texts, strings.ToValidUTF8(text, "?"))
	}
	if more := len(texts) - maxFaults; more > 0 {
		texts = append(texts[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// plan finds when pass has something to do next, if nothing happens.
func (r *reader) plan(now time.Time) {
	r.next = r.walkAt
	earlier := func(at time.Time) {
		if at.After(now) && at.Before(r.next) {
			r.next = at
		}
	}
	for _, m := range r.marks {
		earlier(m.again)
	}
	for _, since := range r.lost {
		earlier(since.Add(patience))
	}
}

// rootStands says whether the root is still the directory that was walked. When a whole tree is taken away, its files go first.
func (r *reader) rootStands() bool {
	info, err := os.Stat(r.root)
	if err != nil {
		return false
	}
	id := identOf(info)
	return id.device == r.tree.rootID.device && id.inode == r.tree.rootID.inode
}
