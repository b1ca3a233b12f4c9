package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/node"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// P7: an engine that has nothing else to do publishes a change at once. The clock of this test stands still while anybody can go on, so a publication
// that waits for any time at all is not there yet.
func TestNoDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: store.New("home"), nodes: node.New(time.Now), fleets: changelog.NewDirectory()}
		e := New(Config{Store: r.store, Compiler: compile.New("home"), Nodes: r.nodes, Fleets: r.fleets, Log: zerolog.Nop()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = e.Run(ctx) }()
		r.synced("home", web("web", "10.0.0.1")...)
		for i := range 5 {
			address := fmt.Sprintf("10.0.0.%d", i+2)
			r.put("home", slice("web", address))
			synctest.Wait()
			fleet, published := r.fleets.Fleets().Get("default")
			if !published {
				t.Fatal("before any time has passed, nothing is published")
			}
			if got := addresses(fleet.Log.Head().Generation.Table("shop_web_80")); fmt.Sprint(got) != fmt.Sprint([]string{address}) {
				t.Fatalf("after change %d, before any time has passed, the table has %v, want %s", i+1, got, address)
			}
		}
	})
}
