// Package haproxytest runs real HAProxies in tests: the oldest and the newest that Berth is for, with files that a renderer made.
//
// It is for the tests of every module and imports none of their packages. What it starts ends with the test.
package haproxytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for what takes milliseconds on a quiet machine.
const patience = 10 * time.Second

// Each runs the test with the oldest HAProxy that Berth is for ("old") and the newest ("new").
func Each(t *testing.T, test func(t *testing.T, binary string)) {
	t.Helper()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { test(t, found(t, name)) })
	}
}

// Names are the versions that there are: the oldest HAProxy that Berth is for, and the newest.
func Names() []string { return []string{"old", "new"} }

// Old is the path of the oldest HAProxy: BERTH_TEST_HAPROXY_OLD, else haproxy in PATH. Without one the test fails if it is named, and is skipped
// if not.
func Old(tb testing.TB) string { return found(tb, "old") }

// New is the path of the newest HAProxy: BERTH_TEST_HAPROXY_NEW, else the one that make setup has fetched.
func New(tb testing.TB) string { return found(tb, "new") }

// Needed is the path of the HAProxy of that name, for a test that fails without one: it is what the test is about.
func Needed(tb testing.TB, name string) string {
	tb.Helper()
	path, variable, _, err := find(name)
	if err != nil {
		tb.Fatalf("no %s HAProxy: %v; run make setup, or set %s", name, err, variable)
	}
	return path
}

func found(tb testing.TB, name string) string {
	tb.Helper()
	path, variable, wanted, err := find(name)
	switch {
	case err != nil && wanted:
		tb.Fatalf("%s: %v", variable, err)
	case err != nil:
		tb.Skipf("no HAProxy: %v; `make setup` installs it, or set %s", err, variable)
	}
	return path
}

// find looks for a HAProxy in the variable that may name it, which is wanted then, and else in the usual place.
func find(name string) (path, variable string, wanted bool, err error) {
	variable = "BERTH_TEST_HAPROXY_" + strings.ToUpper(name)
	binary := os.Getenv(variable)
	wanted = binary != ""
	switch {
	case wanted:
	case name == "old":
		binary = "haproxy"
	default:
		binary = filepath.Join("..", "..", "..", "build", "haproxy-new", "haproxy")
	}
	if path, err = exec.LookPath(binary); err == nil {
		path, err = filepath.Abs(path)
	}
	return path, variable, wanted, err
}

// EndBelow ends every HAProxy that has a path below the folder on its command line: its configuration or its socket. They outlive the agents that started them.
func EndBelow(folder string) {
	below := func(argument string) bool { return strings.HasPrefix(argument, folder+"/") }
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(strings.Split(string(line), "\x00"), below) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Write puts files into a folder, by their paths below it.
func Write(tb testing.TB, folder string, files map[string][]byte) {
	tb.Helper()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// SelfSigned is a certificate for the common name with its key, as PEM, that is good for an hour.
func SelfSigned(tb testing.TB, commonName string) []byte {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: commonName}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(b, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

// Check is `haproxy -c` with warnings as errors.
func Check(tb testing.TB, binary, config string) {
	tb.Helper()
	out, err := exec.Command(binary, "-dW", "-c", "-f", config).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("WARNING")) {
		text, _ := os.ReadFile(config)
		tb.Fatalf("haproxy -c: %v\n%s\n%s", err, out, text)
	}
}

// Start checks the config, starts HAProxy with it and returns when it listens at the address.
func Start(tb testing.TB, binary, config, network, address string) {
	tb.Helper()
	Check(tb, binary, config)
	cmd := exec.Command(binary, "-db", "-f", config)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if tb.Failed() {
			tb.Logf("HAProxy's log:\n%s", log.String())
		}
	})
	deadline, look := time.After(patience), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for {
		if c, err := net.Dial(network, address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			tb.Fatalf("HAProxy does not answer at %s within %s", address, patience)
		}
	}
}

// FreePort is a port of 127.0.0.1 that nobody listens on.
func FreePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
