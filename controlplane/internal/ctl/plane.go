package ctl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/berth-proxy/berth/api/transport"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// patience is how long a plane may take for everything that a command asks. The plane itself serves a call for 30 s.
const patience = 40 * time.Second

// pageSize is the largest that the plane gives.
const pageSize = 1000

// plane is a connection to the admin address.
type plane struct {
	adminv1.AdminServiceClient
	conn    *grpc.ClientConn
	address string
	withTLS bool
	// ctx is that of every call.
	ctx context.Context

	mu      sync.Mutex // guards dialErr, which gRPC's goroutines write
	dialErr error
}

// ask connects to the plane and lets f ask it. Nothing goes on when it returns.
func (r *run) ask(ctx context.Context, f func(*plane) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.follow(ctx, f)
}

// follow is ask without an end.
func (r *run) follow(ctx context.Context, f func(*plane) error) error {
	if _, _, err := net.SplitHostPort(r.admin); err != nil {
		return misused("--admin-address %q: give HOST:PORT", r.admin)
	}
	secure, err := r.tls.Given()
	if err != nil {
		return wrongUsage(err)
	}
	credentials, err := r.tls.Client(r.admin)
	if errors.Is(err, transport.ErrPlainText) {
		return wrongUsage(err)
	}
	if err != nil {
		return err //nolint:wrapcheck // It says what was read.
	}
	p := &plane{address: r.admin, ctx: ctx, withTLS: secure}
	p.conn, err = grpc.NewClient("passthrough:///"+r.admin, grpc.WithTransportCredentials(credentials), grpc.WithContextDialer(p.dial))
	if err != nil {
		return misused("--admin-address %q: %w", r.admin, err)
	}
	p.AdminServiceClient = adminv1.NewAdminServiceClient(p.conn)
	err = f(p)
	if closing := p.conn.Close(); err == nil && closing != nil {
		return fmt.Errorf("end the connection to the control plane at %s: %w", p.address, closing)
	}
	return err
}

func (p *plane) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	p.mu.Lock()
	p.dialErr = err
	p.mu.Unlock()
	return conn, err //nolint:wrapcheck // gRPC keeps it to itself; failure words it.
}

// failure says what became of a call and what to do.
func (p *plane) failure(doing string, err error) error {
	s, isStatus := status.FromError(err)
	switch {
	case !isStatus:
		return fmt.Errorf("%s: %w", doing, err)
	case p.late(s.Code()):
		return fmt.Errorf("%s: the control plane at %s did not answer in time; try again, and look at its log", doing, p.address)
	case p.ctx.Err() != nil:
		return fmt.Errorf("%s: interrupted", doing)
	case s.Code() == codes.Unavailable && p.conn.GetState() != connectivity.Ready:
		return p.unreachable(doing, s)
	case s.Code() == codes.Unimplemented:
		return fmt.Errorf("%s: what listens on %s cannot do that (%s); is it the admin address of a control plane of this version?", doing, p.address, s.Message())
	case s.Code() == codes.InvalidArgument:
		return misused("%s: %s", doing, s.Message())
	default:
		return fmt.Errorf("%s: %s", doing, s.Message())
	}
}

// late says whether a call ended for want of time. The plane knows the deadline, and may be a moment faster in ending it.
func (p *plane) late(code codes.Code) bool {
	deadline, ends := p.ctx.Deadline()
	ended := code == codes.DeadlineExceeded || code == codes.Canceled
	return errors.Is(p.ctx.Err(), context.DeadlineExceeded) || ends && ended && p.ctx.Err() == nil && time.Until(deadline) < time.Second
}

func (p *plane) unreachable(doing string, s *status.Status) error {
	p.mu.Lock()
	dialErr := p.dialErr
	p.mu.Unlock()
	if dialErr != nil {
		return fmt.Errorf("%s: no control plane answers: %w; start it, or give its --admin-address", doing, dialErr)
	}
	advice := "does it want certificates? Give --tls-cert, --tls-key and --tls-ca"
	if p.withTLS {
		advice = "do the certificates fit, and does it want any?"
	}
	return fmt.Errorf("%s: the control plane at %s ended the connection (%s); %s", doing, p.address, s.Message(), advice)
}

// pages calls fetch with the token of each page, beginning with none, until there is no next one.
func pages(fetch func(token string) (next string, err error)) error {
	token := ""
	for {
		next, err := fetch(token)
		if err != nil || next == "" {
			return err
		}
		token = next
	}
}

// fleets lists all fleets, by name.
func (p *plane) fleets() ([]*adminv1.Fleet, error) {
	var list []*adminv1.Fleet
	err := pages(func(token string) (string, error) {
		answer, err := p.ListFleets(p.ctx, &adminv1.ListFleetsRequest{PageSize: pageSize, PageToken: token})
		if err != nil {
			return "", p.failure("list the fleets", err)
		}
		list = append(list, answer.GetFleets()...)
		return answer.GetNextPageToken(), nil
	})
	return list, err
}

// fleet is the name of the one that the command is about.
func (p *plane) fleet(r *run) (string, error) {
	fleets, err := p.fleets()
	if err != nil {
		return "", err
	}
	names := make([]string, len(fleets))
	for i, f := range fleets {
		names[i] = f.GetName()
	}
	return r.chooseFleet(names)
}
