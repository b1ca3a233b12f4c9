package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Server is a server as the worker has it.
type Server struct {
	Backend, Name string
	ID            int
	Addr          netip.Addr
	Port          uint16
	Weight        int
	// Maint and Drain are the administrative states; Up is what health checks say, true without any.
	Maint, Drain, Up bool
	Op               OpState
	Check            CheckResult
	// Unchecked says that the server has a health check, and somebody has switched it off.
	Unchecked bool
}

// OpState is what a server does.
type OpState uint8

// The values of srv_op_state.
const (
	OpStopped OpState = iota
	OpStarting
	OpRunning
	OpStopping
)

// CheckResult is what the last health check came to.
type CheckResult uint8

// The values of srv_check_result.
const (
	CheckUnknown CheckResult = iota
	CheckNeutral
	CheckFailed
	CheckPassed
	CheckPassedStopping
)

// Address is where the server sends to.
func (s Server) Address() netip.AddrPort { return netip.AddrPortFrom(s.Addr, s.Port) }

// The bits of srv_admin_state: forced, inherited and the resolver's maintenance; forced and inherited drain. 0x04 says only that the configuration
// has it disabled, and stays when it is made ready.
const (
	adminMaint = 0x01 | 0x02 | 0x20
	adminDrain = 0x08 | 0x10
)

// The bits of srv_check_state: a check is configured, and it is switched on.
const (
	checkConfigured = 0x02
	checkEnabled    = 0x04
)

// Servers is the answer for one backend.
type Servers struct {
	Servers []Server
	// Err is ErrNoSuchBackend or ErrMalformed.
	Err error
}

// ServersState reads the servers of a backend, of all if it is empty.
func (r *Runtime) ServersState(ctx context.Context, backend string) ([]Server, error) {
	answers, err := r.ServersStates(ctx, []string{backend})
	if err != nil {
		return nil, err
	}
	return answers[0].Servers, answers[0].Err
}

// ServersStates reads the servers of several backends.
func (r *Runtime) ServersStates(ctx context.Context, backends []string) ([]Servers, error) {
	lines := make([]string, len(backends))
	for i, b := range backends {
		lines[i] = strings.TrimSpace("show servers state " + Word(b))
	}
	texts, err := r.ask(ctx, lines...)
	if err != nil {
		return nil, err
	}
	out := make([]Servers, len(texts))
	for i, text := range texts {
		out[i].Servers, out[i].Err = ParseServersState(text)
	}
	return out, nil
}

// columns are the places of what is read in a line.
type columns struct{ backend, id, name, addr, op, admin, weight, check, checking, port, count int }

// ParseServersState reads the answer to `show servers state`, version 1. Its second line names the columns.
func ParseServersState(text string) ([]Server, error) {
	version, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(version) != "1" {
		if err := judge("show servers state", text); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("servers state: version %.20q: %w", version, ErrMalformed)
	}
	header, rest, ok := strings.Cut(rest, "\n")
	if !ok {
		return nil, fmt.Errorf("servers state: the answer ends in its header: %w", ErrMalformed)
	}
	c, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	var out []Server
	for line := range strings.Lines(rest) {
		if !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("servers state: the answer ends in the line %.80q: %w", line, ErrMalformed)
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := c.parse(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("servers state: line %.80q: %w", line, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func parseHeader(header string) (columns, error) {
	c := columns{}
	found := map[string]*int{
		"be_name": &c.backend, "srv_id": &c.id, "srv_name": &c.name, "srv_addr": &c.addr, "srv_op_state": &c.op, "srv_admin_state": &c.admin,
		"srv_uweight": &c.weight, "srv_check_result": &c.check, "srv_check_state": &c.checking, "srv_port": &c.port,
	}
	names := strings.Fields(strings.TrimPrefix(header, "#"))
	c.count = len(names)
	for i, name := range names {
		if place, ok := found[name]; ok {
			*place = i
			delete(found, name)
		}
	}
	if len(found) > 0 {
		return c, fmt.Errorf("servers state: columns %.80q: %w", header, ErrMalformed)
	}
	return c, nil
}

func (c columns) parse(f []string) (Server, error) {
	if len(f) != c.count {
		return Server{}, fmt.Errorf("%d columns of %d: %w", len(f), c.count, ErrMalformed)
	}
	var err error
	number := func(text string, bits int) uint64 {
		n, parseErr := strconv.ParseUint(text, 10, bits)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("%q is no number: %w", text, ErrMalformed)
		}
		return n
	}
	admin, op := number(f[c.admin], 8), OpState(number(f[c.op], 8)) //nolint:gosec // Bounded by the bits.
	s := Server{
		Backend: f[c.backend], Name: f[c.name], ID: int(number(f[c.id], 31)), Port: uint16(number(f[c.port], 16)), Weight: int(number(f[c.weight], 16)), //nolint:gosec // Bounded by the bits.
		Maint: admin&adminMaint != 0, Drain: admin&adminDrain != 0, Up: op != OpStopped, Op: op,
		Check: CheckResult(number(f[c.check], 8)), //nolint:gosec // Bounded by the bits.
	}
	checking := number(f[c.checking], 8)
	s.Unchecked = checking&checkConfigured != 0 && checking&checkEnabled == 0
	if addr, parseErr := netip.ParseAddr(f[c.addr]); parseErr == nil {
		s.Addr = addr // "-" or a name otherwise: a server that has no address
	}
	return s, err
}
