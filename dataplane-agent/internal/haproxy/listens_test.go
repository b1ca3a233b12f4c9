package haproxy

import (
	"net"
	"os"
	"testing"
)

func TestListens(t *testing.T) {
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if !self.Listens(port) {
			t.Errorf("%s: it is not seen that this process listens", address)
		}
		if other, err := Identify(os.Getppid()); err == nil && other.Listens(port) {
			t.Errorf("%s: another process listens there", address)
		}
		_ = l.Close()
		if self.Listens(port) {
			t.Errorf("%s: it listens no more", address)
		}
	}
}

func FuzzSocket(f *testing.F) {
	f.Add("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 123456 1 0000000000000000 100 0 0 10 0")
	f.Add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
	f.Fuzz(func(t *testing.T, line string) {
		if inode, port, ok := parseSocket(line); ok && (inode == "" || port < 0 || port > 65535) {
			t.Fatalf("%q: inode %q, port %d", line, inode, port)
		}
	})
}
