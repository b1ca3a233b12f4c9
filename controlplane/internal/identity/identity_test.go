package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// IDENTITY-1: node b/node/c of fleet a and node c of fleet a/node/b would have one path. Neither may be the other, so none of them is anybody.
func TestIDENTITY1_ASlashInANameMakesNobody(t *testing.T) {
	uri, err := url.Parse("spiffe://example.org/berth/fleet/a/node/b/node/c")
	if err != nil {
		t.Fatal(err)
	}
	ctx := peer.NewContext(context.Background(), &peer.Peer{AuthInfo: credentials.TLSInfo{
		State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{{URIs: []*url.URL{uri}}}},
	}})
	for _, who := range [][2]string{{"a", "b/node/c"}, {"a/node/b", "c"}} {
		if err := CheckNode(ctx, who[0], who[1]); status.Code(err) != codes.PermissionDenied {
			t.Errorf("node %s of fleet %s: %v", who[1], who[0], err)
		}
	}
}
