package node_test

import (
	"fmt"
	"os"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
)

// fault does something that nobody wants.
func (w *world) fault() {
	names := w.backends()
	some := names[w.rnd.IntN(len(names))]
	switch n := w.rnd.IntN(120); {
	case n >= 100:
		w.hand(n-100, some)
	case n < 30:
		w.t.Log("fault: the agent ends and comes back")
		w.a.stop()
		w.a = w.m.start()
	case n < 40:
		if w.killed++; w.killed > 3 {
			return
		}
		if w.rnd.IntN(2) == 0 {
			w.t.Log("fault: HAProxy is killed")
			w.m.endHAProxy()
			return
		}
		if pid := w.a.Hello().Worker.GetPid(); pid != 0 {
			w.t.Log("fault: the worker is killed")
			w.m.endProcess(int(pid))
		}
	case n < 55:
		w.t.Log("fault: a reload by hand")
		w.m.tryCommand("reload")
	case n < 65:
		w.t.Log("fault: a reload by hand with old files")
		for name, text := range w.old {
			_ = os.WriteFile(w.m.socket(name), []byte(text), 0o600)
		}
		w.m.tryCommand("reload")
	case n < 75:
		config := w.m.config()
		list, _ := os.ReadFile(w.m.socket("maps/exact.map"))
		w.old = map[string]string{"haproxy.cfg": config, "maps/exact.map": string(list)}
	case n < 90:
		w.t.Log("fault: drift")
		w.m.tryRuntime("set server "+some+"/s2 state maint", "set server "+some+"/s3 weight 7", "del map maps/exact.map /"+some, "add map maps/exact.map /hand "+some)
	default:
		w.t.Log("fault: the worker does not answer")
		if pid := w.a.Hello().Worker.GetPid(); pid != 0 {
			w.m.hang(int(pid), time.Duration(w.rnd.IntN(500))*time.Millisecond)
		}
	}
}

// hand does what somebody with a shell on the machine may do.
func (w *world) hand(n int, backend string) {
	switch {
	case n < 4:
		w.t.Log("fault: the state directory is emptied")
		w.m.empty()
	case n < 8:
		w.t.Log("fault: a socket is removed")
		_ = os.Remove(w.m.socket([]string{"worker.sock", "master.sock"}[n%2]))
	case n < 12:
		w.t.Log("fault: a frontend is closed")
		w.m.tryRuntime([]string{"disable frontend web", "shutdown frontend web", "set maxconn frontend web 0", "set maxconn global 1"}[n-8])
	case n < 16:
		w.t.Log("fault: the journal is damaged while the agent is away")
		w.a.stop()
		if text, err := os.ReadFile(w.m.socket("journal/log")); err == nil && len(text) > 0 {
			text[w.rnd.IntN(len(text))] ^= 1
			_ = os.WriteFile(w.m.socket("journal/log"), text, 0o600)
		}
		w.a = w.m.start()
	default:
		w.t.Log("fault: the worker is killed in a reload or a batch")
		w.change(backendOf(backend, fmt.Sprint("x", w.ticks)))
		w.touch(backend)
		w.send()
		<-time.After(time.Duration(w.rnd.IntN(150)) * time.Millisecond)
		if w.killed++; w.killed > 3 {
			return
		}
		if pid := w.a.Hello().Worker.GetPid(); pid != 0 {
			w.m.endProcess(int(pid))
		}
	}
}

// backendOf is a backend that differs from others of its name by a comment that HAProxy keeps.
func backendOf(name, description string) *snapshot.Backend {
	b := backend(name)
	b.Lines = []snapshot.Line{{"description", description}}
	return b
}
