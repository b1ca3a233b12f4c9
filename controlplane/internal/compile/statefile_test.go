package compile

import (
	"bytes"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot/render"
)

// P2: whatever a fleet serves, no file that a node writes for it speaks of a server state file, which would mix old and new over a reload.
func TestNoServerStateFile(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+service("other")+
		ingress("web", `annotations: {berth.dev/check: http:/healthz, berth.dev/balance: source}`, "", "x.example.com / web", "x.example.com /other other"))
	k := r.kept["default"]
	s := render.Settings{StateDir: "/var/lib/berth", HTTPPort: 80, HTTPSPort: 443, MaxConn: 1000, Threads: 2}
	files, err := render.Files(k.revision, k.generation, render.NodeMachine(s, s.StateDir, k.revision))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(files[render.ConfigFile], []byte("server s1 10.0.0.1:8080")) {
		t.Fatalf("the test's own backend is not there:\n%s", files[render.ConfigFile])
	}
	for name, text := range files {
		for _, word := range []string{"server-state", "state-from-file", "init-addr"} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s says %q", name, word)
			}
		}
	}
}
