package wire

import (
	"fmt"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Buckets answers AskBuckets: the bucket digests of what the node holds.
func Buckets(ask *fleetv1.AskBuckets, rev *snapshot.Revision, gen *snapshot.Generation) *fleetv1.Buckets {
	b := &fleetv1.Buckets{Held: MarksOf(rev, gen).Proto()}
	if ask.GetRevision() {
		b.Revision = pack(rev.BucketDigests())
	}
	if ask.GetGeneration() {
		b.Generation = pack(gen.BucketDigests())
	}
	return b
}

// Replace is the update that replaces the buckets in which a node differs from these values. A clock whose value is nil, or of which the
// node told no buckets, does not change.
func Replace(b *fleetv1.Buckets, rev *snapshot.Revision, gen *snapshot.Generation) (Update, error) {
	u := Update{Scope: fleetv1.Scope_SCOPE_BUCKETS}
	held, err := MarksFrom(b.GetHeld())
	if err != nil {
		return u, err
	}
	u.From = held
	if rev != nil && len(b.GetRevision()) > 0 {
		u.To.Revision = Mark{rev.Version, rev.Digest()}
		u.RevisionBuckets, u.From.Revision.Digest, err = differing("revision", b.GetRevision(), rev.BucketDigests())
		if err != nil {
			return u, err
		}
		u.Revision.Changes = map[snapshot.Key]snapshot.Resource{}
		for _, r := range rev.InBuckets(set(u.RevisionBuckets)) {
			u.Revision.Changes[r.Key()] = r
		}
	}
	if gen != nil && len(b.GetGeneration()) > 0 {
		u.To.Generation = Mark{gen.Version, gen.Digest()}
		u.GenerationBuckets, u.From.Generation.Digest, err = differing("generation", b.GetGeneration(), gen.BucketDigests())
		if err != nil {
			return u, err
		}
		u.Generation.Tables = map[string]snapshot.TableDelta{}
		for _, t := range gen.InBuckets(set(u.GenerationBuckets)) {
			u.Generation.Tables[t.Backend], _ = snapshot.DiffTables(nil, t)
		}
	}
	return u, nil
}

func pack(digests []snapshot.Digest) []byte {
	b := make([]byte, 0, len(digests)*snapshot.DigestSize)
	for _, d := range digests {
		b = append(b, d[:]...)
	}
	return b
}

// differing returns the buckets whose digests are not our own, and the sum of the peer's.
func differing(clock string, packed []byte, own []snapshot.Digest) (buckets []int, sum snapshot.Digest, err error) {
	if len(packed) != snapshot.Buckets*snapshot.DigestSize {
		return nil, sum, invalid("buckets of the "+clock, "%d bytes, want %d", len(packed), snapshot.Buckets*snapshot.DigestSize)
	}
	for i := range snapshot.Buckets {
		d := snapshot.Digest(packed[i*snapshot.DigestSize:])
		sum = sum.Add(d)
		if d != own[i] {
			buckets = append(buckets, i)
		}
	}
	return buckets, sum, nil
}

func checkBuckets(name string, buckets []int) error {
	var seen [snapshot.Buckets]bool
	for _, b := range buckets {
		if b < 0 || b >= snapshot.Buckets || seen[b] {
			return invalid(name, "bucket %s is not there or named twice", fmt.Sprint(b))
		}
		seen[b] = true
	}
	return nil
}

func set(buckets []int) func(int) bool {
	var in [snapshot.Buckets]bool
	for _, b := range buckets {
		in[b] = true
	}
	return func(b int) bool { return in[b] }
}
