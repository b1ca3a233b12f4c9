// Package journal keeps on disk what the node holds, so that an agent starts without a plane from the last good state (P9). Each applied change is
// one appended record; the writing is done by a goroutine of its own, so no reply waits for the disk.
//
// A journal is one file: a magic line, then records. A record is its length, the CRC-32C of what follows, a type, and the payload: a frame of
// berth.fleet.v1 (the same that the stream carries) or the digest of the revision that the worker runs.
//
// The file's owner is Run's goroutine. What it has not written yet is guarded by a mutex and is bounded: when more waits than
// a few records, they are dropped and the whole newest state is written instead.
//
//	JOURNAL-1  What was appended and synced is what Open gives back.
//	JOURNAL-2  A file that ends in the middle of a record, or is altered anywhere, gives the state before the first record that cannot be relied on.
//	JOURNAL-3  Append never waits for the disk, and what waits in memory is bounded.
//	JOURNAL-4  After a failed write nothing is appended to a file that may end in the middle of a record: the whole state goes to a new file.
//	         So it does when the file is not there any more, or is another than the one that was written.
//	JOURNAL-5  The revision that Open calls running is one that a worker has run, if there was any.
//	JOURNAL-6  Nothing is taken of a file that a node of another fleet has written.
package journal
