// Package transport says how Berth's programs talk to one another: mutual TLS 1.3 with given certificates, or plain text where it cannot leave the
// machine. A Current
// keeps what the files last held that made sense; nothing is started.
//
// Invariants, each of which has a test of that name:
//
//	TRANSPORT-1  Plain text is for loopback addresses only; for any other address there is an error that says what to give.
//	TRANSPORT-2  With certificates, both sides show one and both are checked against the CA that was given, with TLS 1.3 at least.
//	TRANSPORT-3  What the files hold is used by the next handshake, without a restart. Files that do not belong together or are not whole are told of once, and
//	             what they held before goes on being used. Connections that exist stay.
package transport
