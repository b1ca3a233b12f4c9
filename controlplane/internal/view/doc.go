// Package view shows a fleet's wanted state to people and programs: the document of `berthctl render -o json`, the text of `-o haproxy`, and the
// parts of the admin API that the plane and an offline berthctl answer alike. It reads nothing and keeps nothing: what it shows comes as
// arguments, so both sides show the same of the same state.
//
// Invariants:
//
//	VIEW-1  The document has the fields and the order of INTERFACES, and nothing of it is null: a reader may walk it without asking.
//	VIEW-2  Backends are those of the revision, by name, without the one that answers 503; routes are sorted by host, path and match. The same state
//	        gives the same bytes.
//	VIEW-3  Parse reads back the slot tables of a document as they were, Since included, and refuses what could not have been a table.
//	VIEW-4  What -o haproxy prints is a configuration: all that is not haproxy.cfg stands in comments behind it. Keys of certificates are never in it.
package view
