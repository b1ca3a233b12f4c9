package wire

import (
	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Mark is a version with the digest of its content.
type Mark struct {
	Version snapshot.Version
	Digest  snapshot.Digest
}

// Marks are both clocks at once.
type Marks struct{ Revision, Generation Mark }

// MarksOf are the marks of these values; of nil it is the zero Mark.
func MarksOf(rev *snapshot.Revision, gen *snapshot.Generation) Marks {
	var m Marks
	if rev != nil {
		m.Revision = Mark{rev.Version, rev.Digest()}
	}
	if gen != nil {
		m.Generation = Mark{gen.Version, gen.Digest()}
	}
	return m
}

// Epoch is the higher epoch of both clocks.
func (m Marks) Epoch() uint64 { return max(m.Revision.Version.Epoch, m.Generation.Version.Epoch) }

// Same says whether both have the same content, whatever the versions.
func (m Marks) Same(o Marks) bool {
	return m.Revision.Digest == o.Revision.Digest && m.Generation.Digest == o.Generation.Digest
}

// Proto is the message, nil for the zero Mark.
func (m Mark) Proto() *fleetv1.Mark {
	if m == (Mark{}) {
		return nil
	}
	p := &fleetv1.Mark{Version: VersionProto(m.Version)}
	if !m.Digest.IsZero() {
		p.Digest = m.Digest[:]
	}
	return p
}

// Proto is the message.
func (m Marks) Proto() *fleetv1.Marks {
	return &fleetv1.Marks{Revision: m.Revision.Proto(), Generation: m.Generation.Proto()}
}

// VersionProto is the message, nil for the zero Version.
func VersionProto(v snapshot.Version) *fleetv1.Version {
	if v.IsZero() {
		return nil
	}
	return &fleetv1.Version{Epoch: v.Epoch, Number: v.Number}
}

// VersionFrom reads a message that may be missing.
func VersionFrom(p *fleetv1.Version) snapshot.Version {
	return snapshot.Version{Epoch: p.GetEpoch(), Number: p.GetNumber()}
}

// MarkFrom reads a message that may be missing.
func MarkFrom(p *fleetv1.Mark) (Mark, error) {
	d, err := snapshot.DigestFromBytes(p.GetDigest())
	if err != nil {
		return Mark{}, invalid("mark "+VersionFrom(p.GetVersion()).String(), "%v", err)
	}
	return Mark{VersionFrom(p.GetVersion()), d}, nil
}

// MarksFrom reads a message that may be missing.
func MarksFrom(p *fleetv1.Marks) (Marks, error) {
	rev, err := MarkFrom(p.GetRevision())
	if err != nil {
		return Marks{}, err
	}
	gen, err := MarkFrom(p.GetGeneration())
	return Marks{rev, gen}, err
}
