package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// A socket that vanishes for a moment says nothing about the process behind it: no second HAProxy is started beside the one that runs.
func TestNODE10_ASocketThatVanishesForAWhile(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		for _, name := range []string{"worker.sock", "master.sock"} {
			t.Run(name, func(t *testing.T) {
				m := newMachine(t, binary)
				m.cfg.CommandTimeout = 300 * time.Millisecond
				m.cfg.SocketGone = time.Minute // a while is shorter than that
				a, s, p := m.started()
				end := m.load("/a")
				defer end()
				pid, master := m.pid(), m.processes().Master
				move := func(from, to string) {
					if err := os.Rename(m.socket(from), m.socket(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
				}
				move(name, "away")
				// The connection that the node has breaks too.
				thaw := m.freeze(pid)
				a.must(s.slots("a", 0, p, 0, 0))
				a.fails(fleetv1.Code_CODE_UNREACHABLE)
				<-time.After(500 * time.Millisecond)
				thaw()
				a.idles("while a socket is gone")
				if _, err := os.Stat(m.socket(name)); err == nil {
					t.Error("another HAProxy has been started")
				}
				move("away", name)
				a.applied(s)
				if m.pid() != pid || m.processes().Master != master {
					t.Error("another HAProxy runs")
				}
			})
		}
	})
}

// P5: the connection to the worker breaks while a reload is under way, and changes still reach that worker.
func TestNODE2_AReloadDoesNotKeepABrokenConnectionBroken(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.CommandTimeout = 300 * time.Millisecond
		checking, release := m.hold()
		release()
		a, s, p := m.started()
		pid := m.pid()
		_, release = m.holdAgain()
		a.must(s.change(backend("b")))
		a.until("HAProxy checks", checking)
		thaw := m.freeze(pid)
		a.must(s.slots("a", 0, p, 0, 0))
		a.fails(fleetv1.Code_CODE_UNREACHABLE)
		thaw()
		a.until("the old worker has the change", func() bool { return m.servers("a") == fmt.Sprintf("- %d - -", p) })
		a.idles("while HAProxy checks")
		a.must(s.slots("a", p, p, 0, 0, p))
		a.until("and one for which servers are added", func() bool { return m.servers("a") == fmt.Sprintf("%d %d - - %d", p, p, p) })
		if m.pid() != pid {
			t.Error("the reload has not been waited for")
		}
		release()
		a.applied(s)
	})
}

func TestAConfigurationThatIsEditedByHand(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Verify = 200 * time.Millisecond
		a, s, p := m.started()
		a.must(s.slots("a", 0, p, 0, 0))
		a.until("the file follows", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 127") })
		<-time.After(time.Second)
		if n := a.counter("berth_agent_drift_total"); n != 0 {
			t.Fatalf("nobody has changed anything, and the node saw %v changes", n)
		}
		want := m.config()
		if err := os.WriteFile(m.socket("haproxy.cfg"), []byte("global\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.socket("maps/exact.map"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a.until("the files are repaired", func() bool {
			text, _ := os.ReadFile(m.socket("maps/exact.map"))
			return m.config() == want && string(text) == "/a a\n"
		})
		a.until("that is told", func() bool { a.box.Again(); return a.box.Take().Observed.GetDrifts() == 2 })
	})
}

// smallDisk puts a tmpfs of one megabyte under the machine's folder.
func (m *machine) smallDisk() {
	m.t.Helper()
	if err := syscall.Mount("berth-test", m.dir, "tmpfs", 0, "size=1m"); err != nil {
		m.t.Skipf("SKIPPED, not proved here: a small disk cannot be mounted: %v", err)
	}
	m.t.Cleanup(func() {
		m.endHAProxy()
		_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
	})
}

// fill leaves no room on the disk, until it is called back.
func (m *machine) fill() (free func()) {
	m.t.Helper()
	path := m.socket("ballast")
	f, err := os.Create(path)
	if err != nil {
		m.t.Fatal(err)
	}
	block := bytes.Repeat([]byte{1}, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		m.t.Fatal(err)
	}
	_ = f.Close()
	return func() { _ = os.Remove(path) }
}

// The disk is full for a while: endpoints flow, a reload waits, the reason is told, and afterwards everything is as it should be by itself.
func TestADiskThatIsFullForAWhile(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.smallDisk()
		a, s, p := m.started()
		end := m.load("/a")
		defer end()
		pid := m.pid()
		a.until("the files are written", func() bool { return lines(m.config(), "a") != "" })
		free := m.fill()
		a.must(s.slots("a", 0, p, 0, 0))
		a.applied(s)
		a.fails(fleetv1.Code_CODE_DISK)
		// A certificate that cannot be written must not hold back the slot in the same update.
		text := certificate(t)
		u := s.change(backend("b"), route("/b", "b"), &snapshot.Certificate{Name: "n/c", ServerNames: []string{"x.example"}, Content: snapshot.PEMDigest(text), PEM: text})
		v := s.slots("a", 0, 0, p, 0)
		u.From.Generation, u.To.Generation, u.Generation = v.From.Generation, v.To.Generation, v.Generation
		a.must(u)
		a.until("the slot is applied", func() bool { return m.servers("a") == fmt.Sprintf("- - %d -", p) })
		a.fails(fleetv1.Code_CODE_DISK)
		a.idles("while the disk is full")
		if m.pid() != pid || m.get("/a") != 200 {
			t.Error("the last good state does not go on")
		}
		free()
		a.applied(s)
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
		if got := m.get("/b"); got != 503 { // it has no server
			t.Errorf("status %d", got)
		}
		list, _ := os.ReadFile(m.socket("certs/crt-list"))
		if !strings.Contains(string(list), "x.example") {
			t.Errorf("the list of certificates is %q", list)
		}
		a.until("the file has the newest slots", func() bool { return strings.HasPrefix(lines(m.config(), "a"), "192.0.2.1:1 192.0.2.1:1 127") })
		a.stop()
		a = m.start()
		a.applied(s) // the journal has it all
	})
}

// certificate is the node's own kind: a key and a certificate that HAProxy takes.
func certificate(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	if _, err := certs.Open(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, certs.DefaultFile))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The file of a certificate is lost: what runs goes on until the plane has sent it again, and the same revision is then as good as ever.
func TestACertificateFileThatIsLost(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m, a, s, p := started(t, binary)
		text := certificate(t)
		c := &snapshot.Certificate{Name: "n/c", ServerNames: []string{"x.example"}, Content: snapshot.PEMDigest(text), PEM: text}
		a.must(s.change(c))
		a.applied(s)
		again := func(while func()) {
			a.stop()
			if err := os.Remove(m.socket(certs.File(c))); err != nil {
				t.Fatal(err)
			}
			while()
			a = m.start()
			a.until("HAProxy runs", func() bool { return a.Hello().Worker != nil && a.Hello().Applied.Revision.Version.Number > 0 })
			if a.Hello().Held.Revision.Digest == s.rev.Digest() {
				t.Error("the node does not tell the plane that it lacks something")
			}
			<-time.After(time.Second)
			if got := m.get("/a"); got != 200 {
				t.Errorf("status %d", got)
			}
			u := s.change(c)
			u.Scope, u.Revision = fleetv1.Scope_SCOPE_EVERYTHING, s.rev.Full()
			a.must(u)
			a.applied(s)
			a.must(s.slot("a", 1, p))
			a.applied(s)
		}
		pid := m.pid()
		again(func() {})
		if m.pid() != pid {
			t.Error("HAProxy was reloaded though it runs what is wanted")
		}
		again(m.killAll)
	})
}

// A HAProxy that dies again and again is started after longer and longer pauses.
func TestAHAProxyThatDiesSoonIsNotStartedInACircle(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		a, s, _ := m.started()
		starts := a.counter("berth_agent_reloads_total")
		for end := time.Now().Add(4 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
			if w := a.Hello().Worker; w != nil {
				_ = syscall.Kill(int(w.GetPid()), syscall.SIGKILL)
			}
		}
		if n := a.counter("berth_agent_reloads_total") - starts; n < 2 || n > 8 {
			t.Errorf("%v starts in 4 s", n)
		}
		a.applied(s)
	})
}

// silentPod takes connections and says no word before it closes them all.
func silentPod(t *testing.T) (port int, answer func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
		}
	}()
	answer = sync.OnceFunc(func() {
		_ = l.Close()
		<-accepting
		for _, c := range conns {
			_ = c.Close()
		}
	})
	t.Cleanup(answer)
	return l.Addr().(*net.TCPAddr).Port, answer
}

// NODE-6: with too many old workers a reload waits, and endpoints do not.
func TestNODE6_ReloadsWaitForOldWorkers(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.MaxOldWorkers = 2
		a, s, p := m.started()
		silent, answer := silentPod(t)
		a.must(s.change(backend("silent"), route("/silent", "silent")))
		a.must(s.slots("silent", silent))
		a.applied(s)
		a.until("the worker before has ended", func() bool { return len(m.processes().Old) == 0 })
		for i := range 2 {
			m.request("/silent") // it keeps its worker
			a.must(s.change(backend(fmt.Sprint("b", i))))
			a.applied(s)
		}
		a.must(s.change(backend("last")))
		a.fails(fleetv1.Code_CODE_PACED)
		pid := m.pid()
		a.must(s.slots("a", p, p, 0, 0))
		a.until("the slot is applied", func() bool { return m.servers("a") == fmt.Sprintf("%d %d - -", p, p) })
		if m.pid() != pid {
			t.Error("the reload has not waited")
		}
		if n := len(m.processes().Old); n != 2 {
			t.Errorf("%d old workers", n)
		}
		answer()
		a.applied(s)
		a.until("nothing stands in the way any more", func() bool { return a.failed() == nil })
	})
}

// A map that no line of the configuration uses is unknown to the worker. Its entries change all the same, and that needs no reload.
func TestAMapThatNobodyUses(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		m := newMachine(t, binary)
		m.cfg.Verify = 100 * time.Millisecond
		a, s, _ := m.started()
		a.must(s.change(&snapshot.Map{Name: "unused"}, &snapshot.MapEntry{Map: "unused", Name: "/a", Value: "a"}))
		a.applied(s)
		pid := m.pid()
		a.must(s.change(&snapshot.MapEntry{Map: "unused", Name: "/b", Value: "b"}, snapshot.EntryKey("unused", "/a"), route("/used", "a")))
		a.applied(s)
		a.until("the file has the entry", func() bool {
			text, _ := os.ReadFile(m.socket("maps/unused.map"))
			return string(text) == "/b b\n"
		})
		<-time.After(time.Second) // it is verified some times
		if m.pid() != pid {
			t.Error("HAProxy was reloaded")
		}
		if got := m.get("/used"); got != 200 {
			t.Errorf("status %d", got)
		}
		a.applied(s)
	})
}
