package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// DigestSize is the length of a Digest in bytes.
const DigestSize = 32

// Buckets is the number of parts that a Revision or a Generation is cut into for comparing it with a peer's: large enough that one
// changed backend of 10,000 resends some forty, small enough that all digests of a node are one message of 8 KiB.
const Buckets = 256

// A Digest identifies a set of elements. It is the sum, modulo 2^256, of the SHA-256 of each element, so that it is updated in the cost of a
// change (P8) and does not depend on the order. It guards against mistakes and lost updates, not against somebody who can choose thousands
// of elements freely to make two sets collide. The zero Digest is that of the empty set.
type Digest [DigestSize]byte

// DigestFromBytes copies b, which must be DigestSize long; an empty b is the zero Digest.
func DigestFromBytes(b []byte) (Digest, error) {
	var d Digest
	if len(b) != 0 && len(b) != DigestSize {
		return d, fmt.Errorf("read digest: %d bytes, want %d", len(b), DigestSize)
	}
	copy(d[:], b)
	return d, nil
}

// IsZero says whether d is the digest of the empty set.
func (d Digest) IsZero() bool { return d == Digest{} }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is the start of the hex form, for people and tables.
func (d Digest) Short() string { return d.String()[:12] }

// Add returns the digest of the set with the element e more.
func (d Digest) Add(e Digest) Digest {
	var r Digest
	var carry uint64
	for i := DigestSize - 8; i >= 0; i -= 8 {
		var s uint64
		s, carry = bits.Add64(binary.BigEndian.Uint64(d[i:]), binary.BigEndian.Uint64(e[i:]), carry)
		binary.BigEndian.PutUint64(r[i:], s)
	}
	return r
}

// Sub returns the digest of the set without the element e.
func (d Digest) Sub(e Digest) Digest {
	var r Digest
	var borrow uint64
	for i := DigestSize - 8; i >= 0; i -= 8 {
		var s uint64
		s, borrow = bits.Sub64(binary.BigEndian.Uint64(d[i:]), binary.BigEndian.Uint64(e[i:]), borrow)
		binary.BigEndian.PutUint64(r[i:], s)
	}
	return r
}

// canonical builds the bytes that an element is hashed from: every field has its length in front, so no two elements share them.
type canonical struct{ b []byte }

func (c *canonical) str(s string) {
	c.b = binary.AppendUvarint(c.b, uint64(len(s)))
	c.b = append(c.b, s...)
}

func (c *canonical) num(n uint64) { c.b = binary.AppendUvarint(c.b, n) }

// count writes a length or an index.
func (c *canonical) count(n int) { c.num(uint64(n)) } //nolint:gosec // neither is ever negative

func (c *canonical) strs(list []string) {
	c.count(len(list))
	for _, s := range list {
		c.str(s)
	}
}

func (c *canonical) lines(lines []Line) {
	c.count(len(lines))
	for _, l := range lines {
		c.strs(l)
	}
}

func (c *canonical) digest() Digest { return sha256.Sum256(c.b) }

// bucketOf says in which bucket the resource or the table of this name is. FNV-1a, written out because hash/fnv allocates.
func bucketOf(kind Kind, name string) int {
	h := uint32(2166136261)
	h = (h ^ uint32(kind)) * 16777619
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>8 ^ h>>16) % Buckets)
}
