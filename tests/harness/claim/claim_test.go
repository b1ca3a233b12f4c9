package claim

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// CLAIM-1: a second process gets another block while this one lives.
func TestCLAIM1ASecondProcessGetsAnotherBlock(t *testing.T) {
	mine, err := Mine()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CLAIM_TEST_CHILD") != "" {
		fmt.Printf("block %d\n", mine.N)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestCLAIM1")
	child.Env = append(os.Environ(), "CLAIM_TEST_CHILD=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "block ") || strings.Contains(string(out), fmt.Sprintf("block %d\n", mine.N)) {
		t.Fatalf("this process holds block %d; the child said: %s", mine.N, out)
	}
	if l, err := net.Listen("tcp4", fmt.Sprintf("127.%d.255.254:%d", mine.N, PodPort)); err == nil {
		_ = l.Close()
		t.Fatal("the guard of this process's block can be bound again")
	}
}

// CLAIM-2, CLAIM-3: ports differ, are below the ephemeral range and are not the pods'.
func TestCLAIM2Ports(t *testing.T) {
	b, err := Mine()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := b.Port()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", taken))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 * blockPorts {
		port, err := b.Port()
		if err != nil {
			t.Fatal(err)
		}
		if port == taken || port == PodPort || port < firstPort || port >= 32768 {
			t.Fatalf("port %d (in use: %d)", port, taken)
		}
	}
}
