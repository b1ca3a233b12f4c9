package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/pod"
)

const watchdogVariable = "BERTH_TEST_WATCHDOG"

// Main runs a package's tests: TestMain calls it with os.Exit around it. A goroutine that is left afterwards is a failure.
func Main(m *testing.M) int {
	Reexec()
	code := m.Run()
	stopWatchdog()
	removeBuilt()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "a goroutine is left:", err)
		return 1
	}
	return 0
}

// MainInNetns is Main with all tests in a network namespace of their own (see InNetns).
func MainInNetns(m *testing.M) int {
	Reexec()
	if inside() {
		if err := arrangeNetns(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return Main(m)
	}
	runtime.LockOSThread() // the child is killed when the thread that started it ends
	child := netnsCommand(os.Args[1:])
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "tests in a network namespace:", err)
		return 1
	}
	return 0
}

// Reexec turns this process into a pod or the watchdog, if that is what it was started as. A main function that uses the
// harness calls it before anything else.
func Reexec() {
	pod.Main()
	if os.Getenv(watchdogVariable) == "" {
		return
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	runWatchdog(os.Stdin)
	os.Exit(0)
}

// runWatchdog reads directories until its parent's end, then ends every process that names one of them (HARN-2).
func runWatchdog(in io.Reader) {
	var dirs []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		dirs = append(dirs, lines.Text())
	}
	for _, dir := range dirs {
		left, err := haproxy.FindByPath(dir)
		if err != nil || len(left) == 0 {
			continue
		}
		fmt.Fprintf(os.Stderr, "watchdog: the test ended without its cleanup; ending %v, started for %s\n", left, dir)
		if err := haproxy.End(left, 3*time.Second); err != nil {
			fmt.Fprintln(os.Stderr, "watchdog:", err)
		}
	}
}

// watchdog is this process's one, started when there is something to watch.
var watchdog struct {
	mu      sync.Mutex // guards the rest
	command *exec.Cmd
	stdin   io.WriteCloser
}

// guard has whatever names dir ended when this process dies.
func guard(t T, dir string) {
	t.Helper()
	watchdog.mu.Lock()
	defer watchdog.mu.Unlock()
	if watchdog.command == nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatalf("find this binary for the watchdog: %v", err)
		}
		c := exec.Command(self)
		c.Env = append(os.Environ(), watchdogVariable+"=1")
		c.Stderr = os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stdin, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatalf("start the watchdog: %v", err)
		}
		watchdog.command, watchdog.stdin = c, stdin
	}
	if _, err := fmt.Fprintln(watchdog.stdin, dir); err != nil {
		t.Fatalf("tell the watchdog of %s: %v", dir, err)
	}
}

func stopWatchdog() {
	watchdog.mu.Lock()
	defer watchdog.mu.Unlock()
	if watchdog.command == nil {
		return
	}
	_ = watchdog.stdin.Close()
	_ = watchdog.command.Wait()
	watchdog.command = nil
}
