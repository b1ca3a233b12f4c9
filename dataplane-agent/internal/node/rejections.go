package node

import (
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// rejections are the revisions that HAProxy has refused (NODE-5), the oldest first. A Hello has room for so many; of more the oldest is forgotten,
// and refused again if it is sent again.
type rejections struct {
	list     []snapshot.Digest
	byDigest map[snapshot.Digest]*fleetv1.Rejected
	// hello is what a Hello has of them. It is made anew when they change, and never altered.
	hello []*fleetv1.RejectedRevision
}

func (r *rejections) has(digest snapshot.Digest) bool { return r.byDigest[digest] != nil }

// get is the report about a revision, nil if it is not refused.
func (r *rejections) get(digest snapshot.Digest) *fleetv1.Rejected { return r.byDigest[digest] }

func (r *rejections) add(digest snapshot.Digest, report *fleetv1.Rejected) {
	if r.has(digest) {
		return
	}
	if r.byDigest == nil {
		r.byDigest = map[snapshot.Digest]*fleetv1.Rejected{}
	}
	if r.list = append(r.list, digest); len(r.list) > wire.MaxRejected {
		delete(r.byDigest, r.list[0])
		r.list = r.list[1:]
	}
	r.byDigest[digest] = report
	r.hello = make([]*fleetv1.RejectedRevision, len(r.list))
	for i, d := range r.list {
		x := r.byDigest[d]
		r.hello[i] = &fleetv1.RejectedRevision{Digest: d[:], Code: x.GetCode(), Message: x.GetMessage()}
	}
}
