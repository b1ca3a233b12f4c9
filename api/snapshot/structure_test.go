package snapshot_test

import (
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
)

func TestTheStructureDigestFollowsEverythingButMapEntries(t *testing.T) {
	change := func(r *snapshot.Revision, x snapshot.Resource) *snapshot.Revision {
		return r.Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{x.Key(): x}}, r.Version)
	}
	a := change(change(snapshot.EmptyRevision(), &snapshot.Map{Name: "hosts"}), &snapshot.Backend{Name: "b"})
	entry := change(a, &snapshot.MapEntry{Map: "hosts", Name: "x", Value: "y"})
	if a.Digest() == entry.Digest() || a.StructureDigest() != entry.StructureDigest() {
		t.Error("a map entry is part of the structure")
	}
	if backend := change(entry, &snapshot.Backend{Name: "b", Defaults: "d"}); backend.StructureDigest() == entry.StructureDigest() {
		t.Error("a backend is not part of the structure")
	}
}
