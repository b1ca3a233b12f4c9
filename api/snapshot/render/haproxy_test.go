package render_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachHAProxy runs the test with the oldest and the newest HAProxy that Berth is for.
func eachHAProxy(t *testing.T, test func(t *testing.T, haproxy string)) {
	for _, v := range []struct{ name, variable, usual string }{
		{"old", "BERTH_TEST_HAPROXY_OLD", "haproxy"},
		{"new", "BERTH_TEST_HAPROXY_NEW", "../../../build/haproxy-new/haproxy"},
	} {
		t.Run(v.name, func(t *testing.T) {
			name := os.Getenv(v.variable)
			wanted := name != ""
			if !wanted {
				name = v.usual
			}
			path, err := exec.LookPath(name)
			if err != nil && !wanted {
				t.Skipf("no HAProxy: %v; `make setup` installs it, or set %s", err, v.variable)
			}
			if err != nil {
				t.Fatalf("%s: %v", v.variable, err)
			}
			if path, err = filepath.Abs(path); err != nil {
				t.Fatal(err)
			}
			test(t, path)
		})
	}
}

// write puts rendered files, and a self-signed certificate for each named in pems, into a folder.
func write(t *testing.T, dir string, files map[string][]byte, pems map[string]string) {
	t.Helper()
	for file, commonName := range pems {
		files[file] = selfSigned(t, commonName)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func selfSigned(t *testing.T, commonName string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: commonName}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(b, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

// check is `haproxy -c` with warnings as errors.
func check(t *testing.T, haproxy, dir string) {
	t.Helper()
	out, err := exec.Command(haproxy, "-dW", "-c", "-f", filepath.Join(dir, "haproxy.cfg")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "WARNING") {
		t.Fatalf("haproxy -c: %v\n%s", err, out)
	}
}

// start checks and starts HAProxy and waits until its worker socket answers. It is gone when the test ends.
func start(t *testing.T, haproxy, dir string) {
	t.Helper()
	check(t, haproxy, dir)
	cmd := exec.Command(haproxy, "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("HAProxy's log:\n%s", log.String())
		}
	})
	deadline, look := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for {
		if c, err := net.Dial("unix", filepath.Join(dir, "worker.sock")); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal("HAProxy's socket does not answer within 10 s")
		}
	}
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

// freePort is a port of 127.0.0.1 that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
