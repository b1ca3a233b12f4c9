package node_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
	"github.com/berth-proxy/berth/dataplane-agent/internal/node"
	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// asAgent is the variable that makes the test's binary an agent, with the node's configuration in it.
const asAgent = "BERTH_TEST_AGENT"

// runAsAgent is the life of an agent that can be killed: updates come in as frames, each behind its length, and each that is held is a line on the output.
func runAsAgent(config string) error {
	var cfg node.Config
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	folder, err := certs.Open(cfg.Settings.StateDir)
	if err != nil {
		return err
	}
	j, held, err := journal.Open(filepath.Join(cfg.Settings.StateDir, "journal"), "f")
	if err != nil {
		return err
	}
	n := node.New(cfg, node.Parts{
		Log: zerolog.New(os.Stderr), Box: report.New(), Metrics: node.NewMetrics(prometheus.NewRegistry()), Journal: j, Held: held, Certs: folder,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if err := n.Run(ctx); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	})
	all.Go(func() { _ = j.Run(ctx) })
	defer all.Wait()
	defer cancel()
	in, assembler := bufio.NewReader(os.Stdin), wire.Assembler{}
	for {
		var size uint32
		if err := binary.Read(in, binary.BigEndian, &size); err != nil {
			return err
		}
		b := make([]byte, size)
		frame := &fleetv1.Update{}
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		if err := proto.Unmarshal(b, frame); err != nil {
			return err
		}
		u, complete, err := assembler.Add(frame)
		if err != nil {
			return err
		}
		if complete {
			r, err := n.Deliver(ctx, u)
			if err != nil {
				return err
			}
			fmt.Println(r.GetCode())
		}
	}
}

// mortal is an agent in a process of its own.
type mortal struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	id  uint64
}

func (m *machine) startMortal() *mortal {
	m.t.Helper()
	config, err := json.Marshal(m.cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	a := &mortal{cmd: exec.CommandContext(m.t.Context(), os.Args[0])}
	a.cmd.Env = append(os.Environ(), asAgent+"="+string(config))
	out, outErr := a.cmd.StdoutPipe()
	in, inErr := a.cmd.StdinPipe()
	if outErr != nil || inErr != nil {
		m.t.Fatal(outErr, inErr)
	}
	a.in, a.out = in, bufio.NewScanner(out)
	if err := a.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return a
}

// send hands the agent an update and returns when it is held.
func (a *mortal) send(t *testing.T, u wire.Update) {
	t.Helper()
	a.id++
	u.ID = a.id
	frames, err := wire.Frames(u, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)); err != nil {
			t.Fatal(err)
		}
	}
	slow := time.AfterFunc(20*time.Second, a.kill) // it answers at once, whatever HAProxy does
	defer slow.Stop()
	if !a.out.Scan() || a.out.Text() != fleetv1.Code_CODE_OK.String() {
		t.Fatalf("the agent answers %q", a.out.Text())
	}
}

func (a *mortal) kill() { _ = a.cmd.Process.Kill() }

// requests sends requests, each with a connection of its own, until done is closed, and returns what went wrong.
func (m *machine) requests(path string, done <-chan struct{}) (sent int, failed []string) {
	for ; ; sent++ {
		select {
		case <-done:
			return sent, failed
		case <-time.After(2 * time.Millisecond):
		}
		if err := m.try(path); err != nil {
			failed = append(failed, err.Error())
		}
	}
}

func (m *machine) try(path string) error {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.cfg.Settings.HTTPPort))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.Contains(line, " 200 ") {
		return fmt.Errorf("answer %q", line)
	}
	return nil
}

// The agent is killed at any moment, in the middle of a batch, of a journal record, of a check and of a reload: HAProxy serves all the time, and the agent that comes
// after it brings the newest.
func TestAnAgentThatIsKilledAtAnyMoment(t *testing.T) {
	seed := setting(t, "BERTH_RANDOM_SEED", time.Now().UnixNano())
	rounds := int(setting(t, "BERTH_RANDOM_ROUNDS", 12))
	t.Logf("BERTH_RANDOM_SEED=%d", seed)
	eachHAProxy(t, func(t *testing.T, binary string) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		m := newMachine(t, binary)
		a, s, p := m.started()
		q := pod(t, "b")
		master := m.processes().Master
		a.stop()

		done := make(chan struct{})
		var sent int
		var failed []string
		var asking sync.WaitGroup
		asking.Go(func() { sent, failed = m.requests("/a", done) })
		for round := range rounds {
			victim := m.startMortal()
			for step := range 1 + rnd.IntN(4) {
				switch step % 4 {
				case 0:
					s.slots("a", p, q, 0, 0)
				case 1:
					s.slots("a", -p, q, 0, 0)
				case 2:
					s.slots("a", 0, q, 0, p)
				case 3:
					s.slots("a", 0, -q, 0, p)
				}
				if rnd.IntN(3) == 0 {
					name := fmt.Sprintf("b%d-%d", round, step)
					s.change(backend(name), route("/"+name, name))
					s.slots(name, p, 0)
				}
				victim.send(t, wire.Everything(s.rev, s.gen))
				<-time.After(time.Duration(rnd.IntN(120)) * time.Millisecond)
			}
			victim.kill()
			_ = victim.cmd.Wait()
		}
		a = m.start()
		a.must(wire.Everything(s.rev, s.gen))
		over := time.Now()
		a.applied(s)
		if took := time.Since(over); took > 5*time.Second {
			t.Errorf("it took %s to be current after the last kill", took)
		}
		close(done)
		asking.Wait()
		if len(failed) > 0 {
			t.Errorf("%d of %d requests failed, the first: %s", len(failed), sent, failed[0])
		}
		if now := m.processes().Master; now != master {
			t.Errorf("HAProxy was started again: master %d, before %d", now, master)
		}
		if got, want := fmt.Sprint(m.servers("a")), m.wants(s, "a"); got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		t.Logf("%d requests", sent)
	})
}

// wants is what servers tells when all is as wanted.
func (m *machine) wants(s *state, backend string) string {
	var out []string
	for _, x := range s.gen.Table(backend).Slots {
		switch x.State.String() {
		case "free":
			out = append(out, "-")
		case "drain":
			out = append(out, fmt.Sprintf("(%d)", x.Port))
		default:
			out = append(out, fmt.Sprint(x.Port))
		}
	}
	return strings.Join(out, " ")
}

// fds counts the open files of this process.
func fds(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// NODE-4: nothing that the agent has opened outlives it, and no old worker stays for a connection of the agent's. It runs alone, as it counts.
func TestNODE4_NothingIsLeftOver(t *testing.T) {
	before := -1
	for range 2 { // the first round opens what the process keeps
		m := newMachine(t, haproxytest.Needed(t, "new"))
		a, s, p := m.started()
		for i := range 4 {
			a.must(s.slot("a", 1, i%2*p))
			a.must(s.change(backend(fmt.Sprint("b", i))))
			a.applied(s)
		}
		a.until("the old workers have ended", func() bool { return len(m.processes().Old) == 0 })
		m.killAll()
		a.must(s.slot("a", 1, p))
		a.applied(s)
		a.stop()
		m.endHAProxy()
		// The pods of the test are still there: they were made in each round.
		if now := fds(t); before >= 0 && now > before+1 {
			list, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", os.Getpid())).Output()
			t.Errorf("%d open files, before %d:\n%s", now, before, list)
		}
		before = fds(t)
	}
}
