package haproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const askTime = 10 * time.Second

// Ask sends one command to a worker's or a master's socket and returns the answer without the empty line at its end.
func Ask(socket, command string) (string, error) {
	conn, err := net.DialTimeout("unix", socket, askTime)
	if err != nil {
		return "", fmt.Errorf("ask HAProxy %q: %w", command, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(askTime))
	_, err = io.WriteString(conn, command+"\n")
	if err == nil {
		// A master keeps the connection open until it is told that nothing more comes.
		err = conn.(*net.UnixConn).CloseWrite()
	}
	if err != nil {
		return "", fmt.Errorf("ask HAProxy %q: %w", command, err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("read HAProxy's answer to %q: %w", command, err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

// Info returns `show info` of a worker.
func Info(socket string) (map[string]string, error) {
	text, err := Ask(socket, "show info")
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = strings.TrimSpace(value)
		}
	}
	if info["Pid"] == "" {
		return nil, fmt.Errorf("HAProxy's answer to show info names no pid: %q", text)
	}
	return info, nil
}

// WorkerPID returns the pid of the worker that answers on a worker's socket.
func WorkerPID(socket string) (int, error) {
	info, err := Info(socket)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(info["Pid"])
}

// State is a server's administrative state.
type State string

// The states that a server can have by its runtime socket.
const (
	Ready State = "ready"
	Drain State = "drain"
	Maint State = "maint"
)

// A Server is one line of `show servers state`.
type Server struct {
	Backend string
	Name    string
	ID      int
	Address netip.AddrPort // the zero value for a server without an address
	State   State
	Running bool // by its checks, if it has any
	Weight  int
}

func (s Server) String() string {
	return fmt.Sprintf("%s/%s %s %s", s.Backend, s.Name, s.Address, s.State)
}

// Servers returns `show servers state` of one backend, or of all when backend is empty.
func Servers(socket, backend string) ([]Server, error) {
	text, err := Ask(socket, strings.TrimSpace("show servers state "+backend))
	if err != nil {
		return nil, err
	}
	return parseServers(text)
}

// Look returns who a worker is and what it has, of all backends or one, by one connection: while one worker takes over from another, both answer at the socket, and two
// questions may be answered by two.
func Look(socket, backend string) (pid int, servers []Server, err error) {
	text, err := Ask(socket, "show info;"+strings.TrimSpace("show servers state "+backend))
	if err != nil {
		return 0, nil, err
	}
	info, state, _ := strings.Cut(text, "\n\n")
	if pid, err = pidOf(info); err != nil {
		return 0, nil, err
	}
	servers, err = parseServers(strings.TrimLeft(state, "\n"))
	return pid, servers, err
}

func pidOf(info string) (int, error) {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && key == "Pid" {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("HAProxy's answer to show info names no pid: %.200q", info)
}

// Bits of srv_admin_state (HAProxy's include/haproxy/server-t.h). Bit 2 only says that the config had `disabled`.
const (
	maintBits = 0x01 | 0x02 | 0x20 | 0x40
	drainBits = 0x08 | 0x10
)

func parseServers(text string) ([]Server, error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || strings.TrimSpace(lines.Text()) != "1" || !lines.Scan() || !strings.HasPrefix(lines.Text(), "# ") {
		return nil, fmt.Errorf("not an answer to show servers state: %.200q", text)
	}
	column := map[string]int{}
	for i, name := range strings.Fields(lines.Text()[2:]) {
		column[name] = i
	}
	var servers []Server
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		s, err := parseServer(column, fields)
		if err != nil {
			return nil, fmt.Errorf("read %q of show servers state: %w", lines.Text(), err)
		}
		servers = append(servers, s)
	}
	return servers, lines.Err()
}

func parseServer(column map[string]int, fields []string) (Server, error) {
	var errs []error
	field := func(name string) string {
		i, ok := column[name]
		if !ok || i >= len(fields) {
			errs = append(errs, fmt.Errorf("no %s", name))
			return "0"
		}
		return fields[i]
	}
	number := func(name string) int {
		n, err := strconv.Atoi(field(name))
		errs = append(errs, err)
		return n
	}
	admin := number("srv_admin_state")
	s := Server{
		Backend: field("be_name"), Name: field("srv_name"), ID: number("srv_id"),
		Running: number("srv_op_state") == 2, Weight: number("srv_uweight"), State: Ready,
	}
	switch {
	case admin&maintBits != 0:
		s.State = Maint
	case admin&drainBits != 0:
		s.State = Drain
	}
	if a, err := netip.ParseAddr(field("srv_addr")); err == nil {
		s.Address = netip.AddrPortFrom(a, uint16(number("srv_port")))
	}
	return s, errors.Join(errs...)
}

// A Process is one line of a master's `show proc`.
type Process struct {
	PID     int
	Kind    string // master, worker, program
	Reloads int
	Leaving bool // an old worker, which only finishes what it has
}

// Processes returns `show proc` of a master.
func Processes(master string) ([]Process, error) {
	text, err := Ask(master, "show proc")
	if err != nil {
		return nil, err
	}
	return parseProcesses(text)
}

func parseProcesses(text string) ([]Process, error) {
	var processes []Process
	leaving := false
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			leaving = strings.HasPrefix(line, "# old workers")
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("read %q of show proc: %w", line, err)
		}
		// Some versions write the number of reloads in another column than others; it is told for reading only.
		reloads, _ := strconv.Atoi(fields[2])
		processes = append(processes, Process{PID: pid, Kind: fields[1], Reloads: reloads, Leaving: leaving})
	}
	if len(processes) == 0 {
		return nil, fmt.Errorf("not an answer to show proc: %.200q", text)
	}
	return processes, nil
}
