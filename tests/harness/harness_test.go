package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/loadgen"
	"github.com/berth-proxy/berth/tests/pod"
)

func TestMain(m *testing.M) {
	if product := os.Getenv("HARNESS_FAKE"); product != "" {
		beFake(product, os.Args[1:])
	}
	os.Exit(Main(m))
}

// useFakes puts this binary in the place of the product's, so that the harness can be tried without it.
func useFakes(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	check(t, err)
	for _, name := range []string{"berth-controlplane", "berth-agent", "berthctl"} {
		script := fmt.Sprintf("#!/bin/sh\nHARNESS_FAKE=%s exec %s \"$@\"\n", name, self)
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	t.Setenv("BERTH_BIN", dir)
}

// beFake is a product process with nothing in it but what the harness relies on: flags, listeners, an HAProxy that
// outlives its agent.
func beFake(product string, args []string) {
	flag := func(name string) string {
		if i := slices.Index(args, name); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	switch product {
	case "berthctl":
		fmt.Println(args)
		os.Exit(3)
	case "berth-controlplane":
		for _, name := range []string{"--node-address", "--admin-address"} {
			if _, err := net.Listen("tcp", flag(name)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	case "berth-agent":
		dir := flag("--state-dir")
		config := fmt.Sprintf("global\n stats socket %s/worker.sock level admin\ndefaults\n mode http\n timeout connect 1s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind %s:%s\n",
			dir, flag("--bind-address"), flag("--http-port"))
		err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(dir+"/haproxy.cfg", []byte(config), 0o600))
		if _, running := os.Stat(dir + "/master.sock"); err == nil && running != nil {
			h := exec.Command(flag("--haproxy"), "-W", "-S", dir+"/master.sock", "-f", dir+"/haproxy.cfg")
			h.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			err = h.Start()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println(product, "runs")
	<-stop
	os.Exit(0)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// HARN-1: the HAProxy outlives its agent, and is gone after the test.
func TestHARN1NothingIsLeft(t *testing.T) {
	ForEachHAProxy(t, func(t *testing.T, h HAProxy) {
		useFakes(t)
		var all []haproxy.Identity
		t.Run("test", func(t *testing.T) {
			p := StartPlane(t, []string{"dir:/nowhere"})
			a := StartAgent(t, AgentOptions{Planes: []string{p.NodeAddress}, Node: "n1", HAProxy: h.Path})
			a.WaitServing(t, 10*time.Second)
			before, err := haproxy.WorkerPID(a.WorkerSocket())
			check(t, err)
			a.Kill()
			a.Start(t)
			a.Stop(t)
			a.WaitServing(t, 5*time.Second)
			if after, err := haproxy.WorkerPID(a.WorkerSocket()); err != nil || after != before {
				t.Errorf("worker %d became %d (%v)", before, after, err)
			}
			p.Kill()
			p.Start(t)
			if all, err = a.HAProxies(); err != nil || len(all) != 2 {
				t.Errorf("the node's HAProxies: %v, %v", all, err)
			}
			if out, _, code := p.Ctl(t, "nodes"); code != 3 || !strings.Contains(out, p.AdminAddress+" nodes") {
				t.Errorf("berthctl: %d, %s", code, out)
			}
		})
		for _, id := range all {
			if id.Alive() {
				t.Errorf("process %v is left", id)
			}
		}
	})
}

// HARN-2: a test process that is killed leaves nothing either.
func TestHARN2NothingIsLeftByAKilledTest(t *testing.T) {
	if dir := os.Getenv("HARNESS_ABANDON"); dir != "" {
		useFakes(t)
		a := StartAgent(t, AgentOptions{Node: "n1", HAProxy: OldHAProxy(t).Path, StateDir: dir})
		a.WaitServing(t, 10*time.Second)
		check(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
	dir := filepath.Join(t.TempDir(), "state")
	child := exec.Command(os.Args[0], "-test.run=^TestHARN2")
	child.Env = append(os.Environ(), "HARNESS_ABANDON="+dir, "TMPDIR="+t.TempDir())
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	child.WaitDelay = 10 * time.Second
	_ = child.Run() // until the watchdog has ended, for it writes to the same output
	if !strings.Contains(out.String(), "watchdog: the test ended without its cleanup") {
		t.Errorf("the watchdog said nothing: %s", out.String())
	}
	WaitForNil(t, 5*time.Second, "everything to be ended", func() error {
		if found, err := haproxy.FindByPath(dir); err != nil || len(found) > 0 {
			return fmt.Errorf("%v, %w", found, err)
		}
		return nil
	})
}

// HARN-4: in a namespace, a pod can listen on the addresses that the shared cases use, and be reached there.
func TestHARN4PodsInANetworkNamespace(t *testing.T) {
	if !InNetns(t) {
		return
	}
	for _, prefix := range []string{"10.0.0.0/16", "192.168.7.0/24", "fd00::/64"} {
		c := cluster.New(cluster.Options{Dir: t.TempDir(), Prefix: netip.MustParsePrefix(prefix), Port: 8080, Processes: prefix == "10.0.0.0/16"})
		d, err := c.Deploy(t.Context(), cluster.Spec{Namespace: "shop", Name: "web"}, 2)
		check(t, err)
		for _, p := range d.Pods() {
			conn, err := net.Dial("tcp", p.Config().Address.String())
			check(t, err)
			_ = conn.Close()
		}
		check(t, c.Close())
	}
	p, err := pod.Start(pod.Config{Name: "p", Address: netip.MustParseAddrPort("10.0.255.7:8080")})
	check(t, err)
	check(t, p.Kill())
}

func TestInNetnsTakesOverAFailure(t *testing.T) {
	if os.Getenv("HARNESS_FAIL") != "" {
		if InNetns(t) {
			t.Fatal("as it should")
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestInNetnsTakesOverAFailure$")
	child.Env = append(os.Environ(), "HARNESS_FAIL=1")
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "as it should") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A plain HAProxy follows a rolling restart by both ways of news; pods that serve on lose nothing by runtime.
func TestFollow(t *testing.T) {
	for _, news := range []haproxy.News{haproxy.ByReload, haproxy.ByRuntime} {
		for _, ending := range []cluster.Ending{{ServeOn: time.Second}, {AtOnce: true, Pause: 100 * time.Millisecond}} {
			stats := restartUnderLoad(t, news, ending)
			t.Logf("news by %s, %+v: %s", news, ending, stats)
			if news == haproxy.ByRuntime && !ending.AtOnce && stats.Failures > 0 {
				t.Errorf("news by %s, %+v: %s", news, ending, stats)
			}
		}
	}
}

func restartUnderLoad(t *testing.T, news haproxy.News, ending cluster.Ending) loadgen.Stats {
	t.Helper()
	c := cluster.New(cluster.Options{Dir: t.TempDir()})
	defer func() { check(t, c.Close()) }()
	d, err := c.Deploy(t.Context(), cluster.Spec{Namespace: "shop", Name: "web"}, 3)
	check(t, err)
	plain, err := haproxy.StartPlain(haproxy.PlainOptions{
		Binary: NewHAProxy(t).Path, Dir: t.TempDir(), Address: fmt.Sprintf("127.0.0.1:%d", Port(t)), News: news,
		Services: map[string]string{d.Service(): "web.example.com"},
	})
	check(t, err)
	defer func() { check(t, plain.Stop()) }()
	check(t, plain.Set(d.Service(), d.Ready()))
	g, err := loadgen.New(loadgen.Config{
		Targets: []loadgen.Target{{Name: "plain", Address: plain.Address()}},
		Routes:  []loadgen.Route{{Host: "web.example.com", Service: d.Service()}},
		Loads:   []loadgen.Load{{Profile: loadgen.NewConnections, Clients: 8}, {Profile: loadgen.KeepAlive, Clients: 8}},
	})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := Follow(ctx, plain, d); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { g.Run(ctx) })
	check(t, d.RollingRestart(ctx, ending))
	for _, p := range d.Pods() {
		WaitFor(t, 5*time.Second, "requests at a new pod", func() bool {
			n, err := p.Requests()
			return err == nil && n > 3
		})
	}
	cancel()
	running.Wait()
	return g.Stats()
}

// A stage cleans up after a failure, last things first, and tells it.
func TestStage(t *testing.T) {
	var log bytes.Buffer
	var order []string
	var dir string
	err := Perform(&log, func(s *Stage) {
		dir = s.TempDir()
		s.Cleanup(func() { order = append(order, "first") })
		s.Cleanup(func() { order = append(order, "second"); s.Fatalf("a cleanup failed") })
		s.Logf("it begins")
		WaitFor(s, 10*time.Millisecond, "what never comes", func() bool { return false })
		order = append(order, "never")
	})
	if err == nil || !strings.Contains(err.Error(), "what never comes") || !strings.Contains(err.Error(), "a cleanup failed") {
		t.Errorf("err: %v", err)
	}
	if fmt.Sprint(order) != "[second first]" || log.String() != "it begins\n" {
		t.Errorf("%v, %q", order, log.String())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
