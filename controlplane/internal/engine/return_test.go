package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// A new node that is back before the others does not make half of the sources all that there is: the others come in time, stay as they are, and get what was read.
func TestENG2ANewNodeThatIsFirstDoesNotMakeAFirstInstall(t *testing.T) {
	old := before(t, map[string][]source.Object{"home": web("web", "10.0.0.1", "10.0.0.2"), "other": web("far", "10.1.0.1")})
	x := restart(t, "home", "other")
	x.reads("home", true, web("web", "10.0.0.1", "10.0.0.3")...)
	x.passes(time.Minute)
	x.holds("new", snapshot.EmptyRevision(), snapshot.EmptyGeneration())
	x.passes(9 * time.Second)
	if f, _ := x.fleet(); !f.Adopting {
		t.Fatal("nobody else was waited for")
	}
	x.holds("old", old.Revision, old.Generation)
	x.passes(2 * time.Second)
	f, h := x.fleet()
	if f.Adopting || !f.Frozen || h.Revision.Len() != 0 {
		t.Fatalf("the fleet is %+v, with %d resources published", f, h.Revision.Len())
	}
	want := strings.Replace(slotsOf(old.Generation.Table("shop_web_80")), "10.0.0.2", "-", 1)
	if got := strings.Replace(slotsOf(h.Generation.Table("shop_web_80")), "10.0.0.3", "-", 1); got != want {
		t.Errorf("who stayed sits in %s, sat in %s", got, want)
	}
}

// A fleet whose nodes are all new is served with what can be read, a while later.
func TestENG2AFirstInstallWithAMissingSourceWaitsTenSeconds(t *testing.T) {
	x := restart(t, "home", "other")
	x.reads("home", true, web("web", "10.0.0.1")...)
	x.passes(time.Minute)
	x.holds("new", snapshot.EmptyRevision(), snapshot.EmptyGeneration())
	x.passes(9 * time.Second)
	if f, _ := x.fleet(); !f.Adopting {
		t.Error("nobody else was waited for")
	}
	x.passes(time.Second)
	if f, h := x.fleet(); f.Adopting || f.Frozen || h.Revision.Backend("shop_web_80") == nil {
		t.Errorf("the fleet is %+v", f)
	}
}
