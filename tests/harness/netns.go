package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const netnsVariable = "BERTH_TEST_NETNS"

// localRoutes make any address of these ranges local to the namespace, so that a pod can listen on it.
var localRoutes = []string{"10.0.0.0/16", "192.168.7.0/24", "fd00::/64"}

// InNetns runs a test in a network namespace of its own, where the ranges 10.0.0.0/16, 192.168.7.0/24 and fd00::/64 are
// local. The test begins with
//
//	if !harness.InNetns(t) {
//		return
//	}
//
// Outside it runs this one test again in a child process inside the namespace, and takes over its verdict; inside it
// returns true. As root it needs nothing more; otherwise the kernel has to allow user namespaces.
func InNetns(t *testing.T) bool {
	t.Helper()
	if inside() {
		if err := arrangeNetns(); err != nil {
			t.Fatal(err)
		}
		return true
	}
	args := []string{"-test.v", "-test.run=" + exactly(t.Name())}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		// The child has to end first, to say where it hung.
		left := time.Until(deadline) - 5*time.Second
		args = append(args, "-test.timeout="+left.String())
	}
	out, err := runInNetns(ctx, args)
	if strings.Contains(out, "no tests to run") {
		t.Fatalf("the test did not find itself in the namespace:\n%s", out)
	}
	if err != nil {
		t.Fatalf("in a network namespace: %v\n%s", err, out)
	}
	t.Logf("in a network namespace:\n%s", out)
	return false
}

// exactly is a -test.run pattern for one test or subtest.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func runInNetns(ctx context.Context, args []string) (string, error) {
	// The child is killed when the thread that started it ends, so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child := netnsCommand(args)
	out, err := os.CreateTemp("", "berth-netns-*")
	if err != nil {
		return "", fmt.Errorf("make a file for the child's output: %w", err)
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()
	// A file, not a pipe: a process that the child left behind would hold a pipe open.
	child.Stdout, child.Stderr = out, out
	if err := child.Start(); err != nil {
		return "", fmt.Errorf("start a process in a network namespace (root, or user namespaces, are needed): %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = child.Process.Kill() })
	defer stop()
	err = child.Wait()
	text, readErr := os.ReadFile(out.Name())
	if err == nil {
		err = readErr
	}
	return string(text), err
}

func netnsCommand(args []string) *exec.Cmd {
	child := exec.Command(os.Args[0], args...)
	child.Env = append(os.Environ(), netnsVariable+"=1")
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	child.SysProcAttr = attr
	return child
}

func inside() bool { return os.Getenv(netnsVariable) != "" }

var arrangeNetns = sync.OnceValue(func() error {
	// The variable alone proves nothing. Where a network card is, the machine's own network would be changed.
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("look at the network namespace: %w", err)
	}
	if len(interfaces) != 1 || interfaces[0].Name != "lo" {
		return fmt.Errorf("%s is set, but this is no fresh network namespace: it has %v", netnsVariable, interfaces)
	}
	commands := [][]string{{"ip", "link", "set", "lo", "up"}}
	for _, r := range localRoutes {
		commands = append(commands, []string{"ip", "route", "add", "local", r, "dev", "lo"})
	}
	for _, c := range commands {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("arrange the network namespace: %s: %w: %s", strings.Join(c, " "), err, out)
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1\n"), 0o644); err != nil {
		return fmt.Errorf("arrange the network namespace: let pods bind IPv6 addresses: %w", err)
	}
	return nil
})
