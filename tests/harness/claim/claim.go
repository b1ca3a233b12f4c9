// Package claim gives each test process loopback addresses and ports that no other test process uses at the same
// time. Test binaries run side by side, and an address that two of them handed out would let one test's HAProxy send
// requests to the other test's pods: a failure that nobody could explain.
//
// Invariants:
//
//	CLAIM-1  Two living processes never hold the same block.
//	CLAIM-2  Ports lie below the kernel's ephemeral range, so that an outgoing connection never takes one between
//	         the choice and the bind.
//	CLAIM-3  Pods listen on PodPort, which no block contains: a pod's port is never an HAProxy listener's.
package claim

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
)

// PodPort is where every pod listens, each on an address of its own.
const PodPort = 9080

const (
	firstBlock = 10
	blocks     = 100
	firstPort  = 20000
	blockPorts = 120
)

// A Block is this process's share: the addresses 127.N.0.0/16 and a range of ports.
type Block struct {
	N     int
	guard net.Listener

	mu      sync.Mutex // guards what follows
	next    int
	address uint16
}

// Mine returns the block of this process, which is held until the process ends.
var Mine = sync.OnceValues(func() (*Block, error) {
	for i := range blocks {
		n := firstBlock + (os.Getpid()+i)%blocks
		// The guard is the claim: only one process can listen on it, and the kernel takes it back from a killed one.
		guard, err := net.Listen("tcp4", fmt.Sprintf("127.%d.255.254:%d", n, PodPort))
		if err == nil {
			return &Block{N: n, guard: guard}, nil
		}
	}
	return nil, fmt.Errorf("all %d blocks of loopback addresses are taken: are test processes left over?", blocks)
})

// Address returns an address of the block that was never returned before.
func (b *Block) Address() (netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.address == 0xff00 {
		return netip.Addr{}, fmt.Errorf("all addresses of block %d have been handed out", b.N)
	}
	b.address++
	return netip.AddrFrom4([4]byte{127, byte(b.N), byte(b.address >> 8), byte(b.address)}), nil
}

// Port returns a port that nothing listens on, the one that was handed out longest ago.
func (b *Block) Port() (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range blockPorts {
		port := firstPort + (b.N-firstBlock)*blockPorts + b.next
		b.next = (b.next + 1) % blockPorts
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("give back port %d after trying it: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("all %d ports of block %d are taken: does a test forget to stop what it started?", blockPorts, b.N)
}
