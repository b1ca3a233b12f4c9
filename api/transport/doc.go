// Package transport says how Berth's programs talk to one another: mutual TLS 1.3 with given certificates, or plain text where it cannot leave the
// machine. It keeps nothing and starts nothing.
//
// Invariants, each of which has a test of that name:
//
//	TRANSPORT-1  Plain text is for loopback addresses only; for any other address there is an error that says what to give.
//	TRANSPORT-2  With certificates, both sides show one and both are checked against the CA that was given, with TLS 1.3 at least.
package transport
