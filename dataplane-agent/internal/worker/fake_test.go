package worker_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
)

const placeholder = "192.0.2.1:1"

// A fakeServer is what the fake has: the address that it uses, and the one that it was last given.
type fakeServer struct{ address, given, state string }

// fake is a worker with one backend, "b", that answers an address change before it uses the address, as HAProxy does: it comes into use when the
// servers were shown Late times.
type fake struct {
	// Late is how often servers are shown before a given address is used; negative: never.
	Late int
	// Refuse is a text for which a command is refused.
	Refuse string

	mu       sync.Mutex // guards what follows
	servers  []fakeServer
	shown    int
	commands []string
	// wrong are the servers that were enabled while they used the placeholder.
	wrong []string
}

func (f *fake) dial(t *testing.T) *worker.Worker {
	t.Helper()
	return dial(t, serve(t, f.answer).dir)
}

func (f *fake) answer(line string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	words := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, "show servers state"):
		return f.show()
	case !strings.HasPrefix(line, "set server b/s"):
		return ""
	}
	f.commands = append(f.commands, strings.TrimPrefix(line, "set server b/"))
	if f.Refuse != "" && strings.Contains(line, f.Refuse) {
		return "Invalid addr '" + f.Refuse + "'\n"
	}
	var n int
	_, _ = fmt.Sscanf(words[2], "b/s%d", &n)
	s := &f.servers[n-1]
	switch words[3] {
	case "addr":
		s.given = words[4] + ":" + words[6]
		f.shown = 0
		return "IP changed from 'x' to 'y', port changed from '1' to '2' by 'stats socket command'\n"
	case "state":
		if s.state = words[4]; s.state != "maint" && s.address == placeholder {
			f.wrong = append(f.wrong, words[2])
		}
	}
	return ""
}

func (f *fake) show() string {
	if f.shown++; f.Late >= 0 && f.shown > f.Late {
		for i := range f.servers {
			f.servers[i].address = f.servers[i].given
		}
	}
	var rows [][6]string
	for i, s := range f.servers {
		host, port, _ := net.SplitHostPort(s.address)
		rows = append(rows, [6]string{"b", fmt.Sprintf("s%d", i+1), host, port, "100", map[string]string{"ready": "0", "maint": "1", "drain": "8"}[s.state]})
	}
	return state(rows...)
}
