package render_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
)

// write puts rendered files, and a self-signed certificate for each named in pems, into a folder.
func write(t *testing.T, dir string, files map[string][]byte, pems map[string]string) {
	t.Helper()
	for file, commonName := range pems {
		files[file] = haproxytest.SelfSigned(t, commonName)
	}
	haproxytest.Write(t, dir, files)
}

// check is `haproxy -c` with warnings as errors.
func check(t *testing.T, haproxy, dir string) {
	t.Helper()
	haproxytest.Check(t, haproxy, filepath.Join(dir, "haproxy.cfg"))
}

// start checks and starts HAProxy and waits until its worker socket answers. It is gone when the test ends.
func start(t *testing.T, haproxy, dir string) {
	t.Helper()
	haproxytest.Start(t, haproxy, filepath.Join(dir, "haproxy.cfg"), "unix", filepath.Join(dir, "worker.sock"))
}

// ask sends one command to the worker and returns its answer.
func ask(t *testing.T, dir, command string) string {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(dir, "worker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "%s\n", command); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	buf := make([]byte, 65536)
	for {
		n, err := c.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return strings.TrimSpace(b.String())
		}
	}
}
