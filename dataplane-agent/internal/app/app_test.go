package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/files"
	"github.com/berth-proxy/berth/dataplane-agent/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// remember writes a journal of a node that was sent a revision with one backend.
func remember(t *testing.T, stateDir string) {
	t.Helper()
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range []snapshot.Resource{
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{
			{"mode", "http"}, {"timeout", "client", "1s"}, {"timeout", "server", "1s"}, {"timeout", "connect", "1s"},
		}},
		&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{
			{"http-request", "set-var(txn.b)", "path,map_str(maps/m.map)"}, {"http-request", "return", "status", "204"},
		}},
		&snapshot.Map{Name: "m"},
	} {
		d.Changes[r.Key()] = r
	}
	rev := snapshot.EmptyRevision().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
	j, held, err := journal.Open(filepath.Join(stateDir, "journal"), "f")
	if err != nil {
		t.Fatal(err)
	}
	held.Revision = rev
	j.Append(wire.Everything(rev, nil), held)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := errors.Join(j.Run(ctx), j.Err()); err != nil {
		t.Fatal(err)
	}
}

// freePort is a port below those that the kernel gives to whoever names none, so that it is still free when it is used.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 10240 + rand.IntN(20000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// get asks until there is an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for deadline := time.Now().Add(20 * time.Second); ; {
		response, err := client.Get(url)
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			return response.StatusCode, string(text)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// The whole agent, without a plane, in the longest state directory that Validate takes and with every kind of character that it lets through.
func TestAnAgentRunsFromItsDisk(t *testing.T) {
	for _, name := range haproxytest.Names() {
		t.Run(name, func(t *testing.T) {
			binary := haproxytest.Needed(t, name)
			dir, err := os.MkdirTemp("", "berth")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(dir) }()
			state := filepath.Join(dir, "é-_.~+=:!()&;*?|<>^`") + "/"
			state += strings.Repeat("x", maxSocketPath-len(filepath.Join(state, files.LongestSocket))-1)
			cfg := Config{
				Fleet: "f", Node: "n", StateDir: state, HAProxy: binary, HTTPPort: freePort(t), HTTPSPort: freePort(t), BindAddress: "127.0.0.1",
				MetricsAddress: fmt.Sprintf("127.0.0.1:%d", freePort(t)),
			}
			longer := cfg
			if longer.StateDir += "x"; longer.Validate() == nil {
				t.Error("this is not the longest state directory")
			}
			if err := cfg.Validate(); err != nil {
				t.Fatal(err)
			}
			remember(t, cfg.StateDir)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, cfg, zerolog.New(zerolog.NewTestWriter(t))) }()
			defer haproxytest.EndBelow(cfg.StateDir)
			defer func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			if status, _ := get(t, fmt.Sprintf("http://127.0.0.1:%d/", cfg.HTTPPort)); status != http.StatusNoContent {
				t.Errorf("status %d", status)
			}
			if status, text := get(t, "http://"+cfg.MetricsAddress+"/healthz"); status != http.StatusOK || text != "ok\n" {
				t.Errorf("health: %d %q", status, text)
			}
			started := `berth_agent_reloads_total{reason="start"} 1`
			for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
				if _, text := get(t, "http://"+cfg.MetricsAddress+"/metrics"); strings.Contains(text, started) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the metrics do not say %s", started)
				}
			}
			if err := Run(context.Background(), cfg, zerolog.Nop()); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), cfg.StateDir) {
				t.Errorf("a second agent in the same state directory: %v", err)
			}
		})
	}
}
