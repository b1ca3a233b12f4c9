// Package identity says who a peer is by the SPIFFE URI of its certificate, where it has one: spiffe://TRUSTDOMAIN/berth/fleet/FLEET/node/NODE is a node. Which trust
// domains there are is the authority's to say, whose certificates alone pass the handshake. It keeps nothing.
//
// Invariants, each of which has a test of that name:
//
//	IDENTITY-1  A node whose certificate has a SPIFFE URI is served as the node and fleet of that URI only. A URI that is malformed or another's, or two of them, are refused.
//	IDENTITY-2  Without a SPIFFE URI, and in plain text, the certificate says nothing about fleet and node.
//	IDENTITY-3  A certificate with the SPIFFE URI of a node is of no use on the admin address, for no call.
package identity
