package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// berth is the first segment of the paths that are Berth's, of nodes for now.
const berth = "/berth/"

// Path is the path of a node's SPIFFE ID.
func Path(fleet, node string) string { return berth + "fleet/" + fleet + "/node/" + node }

// CheckNode refuses a peer whose certificate has a SPIFFE ID that is not that of the node. The error is the status to end its call with.
func CheckNode(ctx context.Context, fleet, node string) error {
	id, err := of(ctx)
	if err != nil {
		return err
	}
	// A slash in a name would let one node's path read as another's.
	if want := Path(fleet, node); !id.IsZero() && (id.Path() != want || strings.Contains(fleet+node, "/")) {
		return status.Errorf(codes.PermissionDenied,
			"the certificate is for %s, and the node says that it is %s of fleet %s; give it a certificate for spiffe://%s%s, or correct --fleet and --node",
			id, node, fleet, id.TrustDomain().Name(), want)
	}
	return nil
}

// CheckPerson refuses a peer whose certificate is a node's.
func CheckPerson(ctx context.Context) error {
	id, err := of(ctx)
	if err != nil {
		return err
	}
	if strings.HasPrefix(id.Path(), berth) {
		return status.Errorf(codes.PermissionDenied, "the certificate is a node's, %s, and nodes have no business on the admin address; use a certificate of yours", id)
	}
	return nil
}

// People are the options of a gRPC server that is not for nodes. Said is told of each refusal.
func People(said func(ctx context.Context, err error)) []grpc.ServerOption {
	check := func(ctx context.Context) error {
		err := CheckPerson(ctx)
		if err != nil {
			said(ctx, err)
		}
		return err
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if err := check(ctx); err != nil {
				return nil, err
			}
			return handle(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			if err := check(stream.Context()); err != nil {
				return err
			}
			return handle(srv, stream)
		}),
	}
}

// of gives the SPIFFE ID of the peer's certificate, none where there is no certificate or no such URI in it.
func of(ctx context.Context) (spiffeid.ID, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return spiffeid.ID{}, nil
	}
	secure, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(secure.State.PeerCertificates) == 0 {
		return spiffeid.ID{}, nil
	}
	id, err := parse(secure.State.PeerCertificates[0])
	if err != nil {
		return spiffeid.ID{}, status.Error(codes.PermissionDenied, err.Error())
	}
	return id, nil
}

// parse is strict: a certificate that says two things about who shows it, or something that cannot be read, says nothing that may be passed over.
func parse(c *x509.Certificate) (spiffeid.ID, error) {
	var found *url.URL
	for _, u := range c.URIs {
		if !strings.EqualFold(u.Scheme, "spiffe") {
			continue
		}
		if found != nil {
			return spiffeid.ID{}, fmt.Errorf("the certificate has more than one SPIFFE URI, %s and %s; give it one", found, u)
		}
		found = u
	}
	if found == nil {
		return spiffeid.ID{}, nil
	}
	id, err := spiffeid.FromURI(found)
	if err != nil {
		return spiffeid.ID{}, fmt.Errorf("the certificate's SPIFFE URI %s is not valid: %w", found, err)
	}
	return id, nil
}
