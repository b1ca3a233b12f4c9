package harness

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"
)

// A Plane is a control plane process on loopback.
type Plane struct {
	*Process
	NodeAddress, AdminAddress, MetricsAddress string
}

// StartPlane starts a control plane on some sources, each [NAME=]dir:PATH, and returns when it listens. The other flags
// are the plane's own. Started again by Start it has the same addresses.
func StartPlane(t T, sources []string, flags ...string) *Plane {
	t.Helper()
	p := NewPlane(t, sources, flags...)
	p.Start(t)
	return p
}

// NewPlane prepares a control plane without starting it, so that agents can be told its address before it is there.
func NewPlane(t T, sources []string, flags ...string) *Plane {
	t.Helper()
	address := func() string { return fmt.Sprintf("127.0.0.1:%d", Port(t)) }
	p := &Plane{NodeAddress: address(), AdminAddress: address(), MetricsAddress: address()}
	args := []string{"--node-address", p.NodeAddress, "--admin-address", p.AdminAddress, "--metrics-address", p.MetricsAddress}
	for _, s := range sources {
		args = append(args, "--source", s)
	}
	p.Process = newProcess(t, "plane", Binary(t, "berth-controlplane"), append(args, flags...)...)
	// No directory is the plane's own: the watchdog knows it by an address that it alone has among its arguments.
	guard(t, p.NodeAddress)
	return p
}

// Start starts the plane, again if it ran before, and returns when it listens.
func (p *Plane) Start(t T) {
	t.Helper()
	p.Process.Start(t)
	WaitForNil(t, 20*time.Second, "the control plane to listen", func() error {
		if !p.Running() {
			t.Fatalf("the control plane ended before it listened")
		}
		for _, a := range []string{p.NodeAddress, p.AdminAddress} {
			conn, err := net.Dial("tcp", a)
			if err != nil {
				return err
			}
			_ = conn.Close()
		}
		return nil
	})
}

// Ctl runs berthctl against the plane and returns its standard output, its standard error and its exit code.
func (p *Plane) Ctl(t T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return Ctl(t, append([]string{"--admin-address", p.AdminAddress}, args...)...)
}

// Ctl runs berthctl, for what it can do without a plane.
func Ctl(t T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(Binary(t, "berthctl"), args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run berthctl %v: %v", args, err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}
