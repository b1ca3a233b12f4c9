package haproxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agentDir is the environment variable that makes the test binary an agent that starts the HAProxy of a folder and ends at once.
const agentDir = "BERTH_TEST_AGENT_DIR"

func beAgent(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := Start(ctx, StartConfig{
		Binary: os.Getenv("BERTH_TEST_AGENT_BINARY"), Config: filepath.Join(dir, "haproxy.cfg"), MasterSocket: filepath.Join(dir, MasterSocket),
		WorkerSocket: filepath.Join(dir, "worker.sock"), StateDir: dir,
	})
	if err == nil {
		_, err = p.WaitWorker(ctx)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	// Not a return: an agent that is killed does nothing on its way out.
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// HAPROXY-4: an agent that is killed leaves HAProxy running, and the next one meets it, reloads it and finds it gone when it ends.
func TestHAProxyOutlivesItsAgent(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		agent := exec.Command(os.Args[0])
		agent.Env = append(os.Environ(), agentDir+"="+m.dir, "BERTH_TEST_AGENT_BINARY="+v.binary)
		out, err := agent.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("the agent was not killed: %v: %s", err, out)
		}
		var master int
		if _, err := fmt.Sscan(string(out), &master); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		m.masters = append(m.masters, master)
		ctx := within(t, 10*time.Second)
		id, err := Find(ctx, m.master(), m.worker())
		if err != nil {
			t.Fatal(err)
		}
		p, err := Show(ctx, m.master())
		if err != nil || p.Master != master || len(p.Workers) != 1 || p.Workers[0] != id.PID {
			t.Fatalf("Show = %+v, %v; want master %d with worker %d", p, err, master, id.PID)
		}
		if sid, err := session(master); err != nil || sid != master {
			t.Errorf("the master's session is %d (%v), want its own: the end of the agent's would end it", sid, err)
		}
		next, err := Reload(ctx, m.master(), m.worker(), id)
		if err != nil || next == id {
			t.Fatalf("Reload by the next agent = %v, %v", next, err)
		}
		eventually(t, "the worker before has ended", func() bool { return !id.Alive() })
		if err := syscall.Kill(master, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the worker has ended", func() bool { return !next.Alive() })
		if _, err := Find(ctx, m.master(), m.worker()); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Find after the end: %v", err)
		}
		if _, err := Look(ctx, m.master(), next); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Look after the end: %v", err)
		}
	})
}

func session(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var sid int
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	_, err = fmt.Sscan(fields[3], &sid)
	return sid, err
}

// While the agent lives it reaps its child and says how it ended.
func TestEndedTellsHowTheMasterEnded(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		for _, c := range []struct {
			signal syscall.Signal
			want   string
		}{{syscall.SIGTERM, "exit status 0"}, {syscall.SIGKILL, "killed by signal 9 (killed)"}} {
			m := newMachine(t, v)
			p, worker := m.start()
			if p.Ended() || p.Exit() != "" {
				t.Fatalf("a master that has just started has ended: %q", p.Exit())
			}
			m.settle()
			if parentOf(worker.PID) != p.PID() {
				t.Errorf("the worker's parent is %d, not %d", parentOf(worker.PID), p.PID())
			}
			if err := syscall.Kill(p.PID(), c.signal); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the master's end is seen", p.Ended)
			if got := p.Exit(); got != c.want {
				t.Errorf("after signal %v: %q, want %q", c.signal, got, c.want)
			}
			if _, err := Identify(p.PID()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the master was not reaped: %v", err)
			}
			_ = syscall.Kill(worker.PID, syscall.SIGKILL)
		}
	})
}

// What keeps HAProxy from starting is told by its kind, with HAProxy's words.
func TestStartTellsWhyNot(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		taken := listen(t)
		for _, c := range []struct {
			name, more string
			binary     string
			kind       error
			words      string
		}{
			{"a keyword that is none", "foo bar\n", v.binary, ErrRejected, "unknown keyword 'foo'"},
			{"an address that is taken", "frontend g from dd\n bind " + taken + "\n default_backend b\n", v.binary, ErrBind, "cannot bind socket"},
			{"a binary that is none", "", "/dev/null", ErrStart, "permission denied"},
			{"a binary that is not there", "", m404, ErrStart, "no such file"},
		} {
			m := newMachine(t, v)
			m.configure(c.more)
			ctx := within(t, 20*time.Second)
			cfg := m.config()
			cfg.Binary = c.binary
			p, err := Start(ctx, cfg)
			if err == nil {
				m.masters = append(m.masters, p.PID())
				_, err = p.WaitWorker(ctx)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v; want %v with %q", c.name, err, c.kind, c.words)
			}
		}
	})
}

// Two HAProxies of one user can share a port, and each would get a part of the connections.
func TestStartSharesNoPort(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		address, other := loopback()+":18082", loopback()+":18083"
		start := func() (*Process, error) {
			m := newMachine(t, v)
			m.configure("frontend g from dd\n bind " + address + "\n default_backend b\n")
			cfg := m.config()
			cfg.Listeners = []string{other, address}
			ctx := within(t, 20*time.Second)
			p, err := Start(ctx, cfg)
			if err == nil {
				m.masters = append(m.masters, p.PID())
				_, err = p.WaitWorker(ctx)
			}
			return p, err
		}
		if _, err := start(); err != nil {
			t.Fatal(err)
		}
		if _, err := start(); !errors.Is(err, ErrBind) || !strings.Contains(err.Error(), address) {
			t.Errorf("a second HAProxy on %s: %v; want ErrBind", address, err)
		}
	})
}

const m404 = "/nonexistent/haproxy"

func TestVersionAsksTheBinary(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		got, err := Version(within(t, 5*time.Second), v.binary)
		if err != nil || got.Major < 2 || !strings.HasPrefix(got.Full, fmt.Sprintf("%d.%d.%d", got.Major, got.Minor, got.Patch)) {
			t.Errorf("Version = %+v, %v", got, err)
		}
	})
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]VersionInfo{
		"HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n": {2, 6, "2.6.12-1+deb12u4", 12},
		"HA-Proxy version 1.8.30-1 2021\n":                                     {1, 8, "1.8.30-1", 30},
		"HAProxy version 3.5-dev3-abc 2026/10/17\n":                            {3, 5, "3.5-dev3-abc", 0},
	} {
		if got, err := parseVersion(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "nginx version: 1.2", "HAProxy version x", "HAProxy version 99999999999999999999.1"} {
		if _, err := parseVersion(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// HAPROXY-5: a process is another one when its pid is used again, and none when it has ended and was not reaped.
func TestIdentity(t *testing.T) {
	t.Parallel()
	self, err := Identify(os.Getpid())
	if err != nil || !self.Alive() || self.IsZero() {
		t.Fatalf("Identify(self) = %v, %v", self, err)
	}
	if (Identity{self.PID, self.StartTime + 1}).Alive() {
		t.Error("a pid with another start time counts as the same process")
	}
	child := exec.Command("/bin/true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	zombie := child.Process.Pid
	eventually(t, "the child that nobody has waited for is gone", func() bool { _, err := Identify(zombie); return errors.Is(err, os.ErrNotExist) })
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := Identify(zombie); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the wait: %v", err)
	}
	got, err := parseStat("7 (a) b (c)) S 3 7 7 0 -1 1 2 3 4 5 6 7 8 9 10 11 12 13 4242 99\n")
	if err != nil || got != (stat{3, 4242}) {
		t.Errorf("a name with brackets: %+v, %v", got, err)
	}
}

// A log that HAProxy holds open is kept short without HAProxy noticing, and its end is kept.
func TestTrimLog(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		_, id := m.start()
		if err := os.Truncate(m.path(LogFile), maxLog+1); err != nil {
			t.Fatal(err)
		}
		if err := TrimLog(m.dir); err != nil {
			t.Fatal(err)
		}
		if n := logSize(m.dir); n != 0 {
			t.Fatalf("%d bytes after the trim", n)
		}
		m.configure("nonsense\n")
		if _, err := Reload(within(t, 10*time.Second), m.master(), m.worker(), id); !errors.Is(err, ErrRejected) {
			t.Errorf("a reload after the trim: %v", err)
		}
		if text := logFrom(m.dir, maxLog); !strings.Contains(text, "nonsense") {
			t.Errorf("HAProxy writes elsewhere: %q", text)
		}
		if info, err := os.Stat(m.path(LogFile + ".1")); err != nil || info.Size() != maxLog {
			t.Errorf("what was trimmed: %v, %v", info, err)
		}
	})
}
