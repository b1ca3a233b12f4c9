package snapshot

// StructureDigest identifies what of the Revision a running worker cannot be given: everything but the entries of its maps. A worker that was
// started with it shows it, so whoever meets the worker later knows what it runs. It looks at every resource: it is for a reload, never for the path of a
// change.
func (r *Revision) StructureDigest() Digest {
	d := r.digest
	r.tree.walk(Key{Kind: KindMapEntry}.order(), func(_ string, e *element) bool {
		d = d.Sub(e.digest)
		return true
	})
	return d
}
