package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/berth-proxy/berth/tests/harness"
)

const mountsVariable = "BERTH_SOAK_MOUNTS"

// diskSize is enough for a node's state directory, and soon full.
const diskSize = "size=6m"

// TestMain runs the tests where they may mount a small disk that nobody else sees, and that goes with them: in a mount namespace of their own. Without root, or user
// namespaces, they run all the same, and that fault is left out.
func TestMain(m *testing.M) {
	harness.Reexec()
	if os.Getenv(mountsVariable) != "" {
		os.Exit(harness.Main(m))
	}
	runtime.LockOSThread() // the child is killed when the thread that started it ends
	child := exec.Command(os.Args[0], os.Args[1:]...)
	child.Env = append(os.Environ(), mountsVariable+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "no mount namespace is to be had:", err)
		os.Exit(harness.Main(m))
	}
	_ = child.Wait() // how it ended is its exit code
	if code := child.ProcessState.ExitCode(); code >= 0 {
		os.Exit(code)
	}
	os.Exit(1)
}

// smallDisk mounts one, and says loudly if it cannot.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	err := os.Mkdir(dir, 0o700)
	if err == nil && os.Getenv(mountsVariable) == "" {
		err = fmt.Errorf("this is the machine's own mount namespace")
	}
	if err == nil {
		err = syscall.Mount("berth", dir, "tmpfs", 0, diskSize)
	}
	if err != nil {
		t.Logf("*** no small disk can be mounted (root, or user namespaces, are needed), so no disk will be full in this run: %v", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
