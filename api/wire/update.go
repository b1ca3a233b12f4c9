package wire

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Update is what leads a node from what it holds to something newer.
type Update struct {
	// ID is the stream's own count of updates.
	ID    uint64
	Scope fleetv1.Scope
	// To has the marks of the clocks that change: one whose version is zero does not. From has their bases; of SCOPE_EVERYTHING it is not used.
	From, To Marks
	// Revision and Generation are the changes. With SCOPE_BUCKETS and SCOPE_EVERYTHING they take nothing away, and are what the buckets hold and
	// all that there is.
	Revision   snapshot.RevisionDelta
	Generation snapshot.GenerationDelta
	// RevisionBuckets and GenerationBuckets are the buckets that SCOPE_BUCKETS replaces.
	RevisionBuckets, GenerationBuckets []int
	// Seen is when the oldest change was seen by its source, by the plane's clock; it may be zero.
	Seen time.Time
}

// Everything is the update that brings these values to a node whatever it holds. A clock whose value is nil does not change.
func Everything(rev *snapshot.Revision, gen *snapshot.Generation) Update {
	u := Update{Scope: fleetv1.Scope_SCOPE_EVERYTHING, To: MarksOf(rev, gen)}
	if rev != nil {
		u.Revision = rev.Full()
	}
	if gen != nil {
		u.Generation = gen.Full()
	}
	return u
}

// ChangesRevision says whether the update has a new revision.
func (u Update) ChangesRevision() bool { return !u.To.Revision.Version.IsZero() }

// ChangesGeneration says whether the update has a new generation.
func (u Update) ChangesGeneration() bool { return !u.To.Generation.Version.IsZero() }

// Apply returns what a node holds after the update. What it held must be the base (CODE_BASE_MISMATCH), and the result what was announced
// (CODE_DIGEST_MISMATCH); else nothing changes.
func (u Update) Apply(rev *snapshot.Revision, gen *snapshot.Generation) (*snapshot.Revision, *snapshot.Generation, error) {
	if err := u.check(); err != nil {
		return nil, nil, err
	}
	if u.ChangesRevision() {
		next, err := u.applyRevision(rev)
		if err != nil {
			return nil, nil, err
		}
		rev = next
	}
	if u.ChangesGeneration() {
		next, err := u.applyGeneration(gen)
		if err != nil {
			return nil, nil, err
		}
		gen = next
	}
	return rev, gen, nil
}

func (u Update) applyRevision(held *snapshot.Revision) (*snapshot.Revision, error) {
	if err := u.checkBase("revision", u.From.Revision, held.Digest()); err != nil {
		return nil, err
	}
	delta := u.Revision
	switch u.Scope {
	case fleetv1.Scope_SCOPE_EVERYTHING:
		held = snapshot.EmptyRevision()
	case fleetv1.Scope_SCOPE_BUCKETS:
		delta = held.ReplaceBuckets(set(u.RevisionBuckets), slices.Collect(maps.Values(delta.Changes)))
	}
	next := held.Apply(delta, u.To.Revision.Version)
	return next, checkResult("revision", u.To.Revision, next.Digest())
}

func (u Update) applyGeneration(held *snapshot.Generation) (*snapshot.Generation, error) {
	if err := u.checkBase("generation", u.From.Generation, held.Digest()); err != nil {
		return nil, err
	}
	delta := u.Generation
	switch u.Scope {
	case fleetv1.Scope_SCOPE_EVERYTHING:
		held = snapshot.EmptyGeneration()
	case fleetv1.Scope_SCOPE_BUCKETS:
		delta = held.ReplaceBuckets(set(u.GenerationBuckets), delta.Tables)
	}
	next := held.Apply(delta, u.To.Generation.Version)
	return next, checkResult("generation", u.To.Generation, next.Digest())
}

func (u Update) checkBase(clock string, from Mark, held snapshot.Digest) error {
	if u.Scope == fleetv1.Scope_SCOPE_EVERYTHING || from.Digest == held {
		return nil
	}
	return &Error{fleetv1.Code_CODE_BASE_MISMATCH, clock, fmt.Sprintf("the update starts from %s %s, but %s is held", from.Version,
		from.Digest.Short(), held.Short())}
}

func checkResult(clock string, to Mark, got snapshot.Digest) error {
	if to.Digest == got {
		return nil
	}
	return &Error{fleetv1.Code_CODE_DIGEST_MISMATCH, clock, fmt.Sprintf("the update leads to %s, not to the announced %s %s", got.Short(), to.Version,
		to.Digest.Short())}
}

// check finds what no update may be, in or out.
func (u Update) check() error {
	name := fmt.Sprintf("update %d", u.ID)
	if !u.ChangesRevision() && !u.ChangesGeneration() {
		return invalid(name, "it changes neither clock")
	}
	if !u.ChangesRevision() && (len(u.Revision.Changes) > 0 || len(u.RevisionBuckets) > 0) {
		return invalid(name, "it has resources of a revision, but no mark that they lead to")
	}
	if !u.ChangesGeneration() && (len(u.Generation.Tables) > 0 || len(u.GenerationBuckets) > 0) {
		return invalid(name, "it has tables of a generation, but no mark that they lead to")
	}
	switch u.Scope {
	case fleetv1.Scope_SCOPE_CHANGES, fleetv1.Scope_SCOPE_EVERYTHING:
		if len(u.RevisionBuckets) > 0 || len(u.GenerationBuckets) > 0 {
			return invalid(name, "it names buckets, but its scope is %s", u.Scope)
		}
	case fleetv1.Scope_SCOPE_BUCKETS:
		if err := checkBuckets(name, u.RevisionBuckets); err != nil {
			return err
		}
		if err := checkBuckets(name, u.GenerationBuckets); err != nil {
			return err
		}
	default:
		return invalid(name, "the scope %s is not known", u.Scope)
	}
	return u.checkContent()
}

// checkContent finds removals where everything is written anew, and tables that are too long, each or together.
func (u Update) checkContent() error {
	whole := u.Scope != fleetv1.Scope_SCOPE_CHANGES
	for k, r := range u.Revision.Changes {
		if whole && r == nil {
			return invalid(k.String(), "it is taken away in an update of %s", u.Scope)
		}
	}
	slots := 0
	for backend, t := range u.Generation.Tables {
		if whole && t.Removed {
			return invalid(tableName(backend), "it is taken away in an update of %s", u.Scope)
		}
		if t.Length < 0 || t.Length > snapshot.MaxSlots {
			return invalid(tableName(backend), "%d slots, at most %d are possible", t.Length, snapshot.MaxSlots)
		}
		if slots += t.Length; slots > MaxTotalSlots {
			return invalid(fmt.Sprintf("update %d", u.ID), "its tables have more than %d slots", MaxTotalSlots)
		}
	}
	return nil
}

func tableName(backend string) string { return "table of backend " + backend }
