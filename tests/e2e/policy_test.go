package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/loadgen"
)

// backendPolicy is a BackendPolicy as somebody writes it.
type backendPolicy struct {
	manifest.TypeMeta
	Metadata manifest.Meta  `json:"metadata"`
	Spec     map[string]any `json:"spec"`
}

func (o backendPolicy) ID() manifest.ID {
	return manifest.ID{Kind: "BackendPolicy", Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

// A policy comes, changes what is spoken to the pods, how they are checked and how much they take, and goes, under load of every kind. No request fails, and clients with a
// cookie keep their pods through all of it: the policy makes other backends, and the cookie is the pod's in all of them.
func TestAPolicyComesChangesAndGoes(t *testing.T) {
	r := rig.New(t, rig.Options{Fleets: bothFleets(t, 1)})
	d := r.Service("web", 4, "affinity", "cookie")
	r.WaitServed("web")
	r.WaitCurrent()
	c := r.Load(300, loadgen.Mix(1), "web")
	l := startLoad(t, c)
	guests := make([]*guest, 8)
	var wait sync.WaitGroup
	visits := beside(t, func(ctx context.Context) {
		for i := range guests {
			guests[i] = &guest{name: "web", pods: d}
			wait.Go(func() { guests[i].run(ctx, r) })
		}
		wait.Wait()
	})

	policy := backendPolicy{TypeMeta: manifest.TypeMeta{APIVersion: "berth.dev/v1alpha1", Kind: "BackendPolicy"}, Metadata: manifest.Meta{Namespace: rig.Namespace, Name: "web"}}
	target := []any{map[string]any{"group": "", "kind": "Service", "name": "web"}}
	for _, spec := range []map[string]any{
		{"targetRefs": target, "protocol": "h2c"},
		{"targetRefs": target, "protocol": "h2c", "check": map[string]any{"http": map[string]any{"path": "/"}, "interval": "1s"}, "maxConnectionsPerPod": 500, "balance": "leastconn"},
		{"targetRefs": target, "affinity": map[string]any{"cookie": map[string]any{}, "stickyDrain": "keep"}, "slots": map[string]any{"minimum": 12}},
		nil,
	} {
		policy.Spec = spec
		before := revision(t, r, "new")
		if spec != nil {
			r.Must(r.Put(policy))
		} else {
			r.Must(r.Delete(policy.ID()))
		}
		harness.WaitFor(t, 20*time.Second, "the policy to be compiled", func() bool { return revision(t, r, "new") != before })
		r.WaitCurrent()
		during(t, 1500*time.Millisecond)
	}
	visits.stop()
	unharmed(t, l.end(), c)
	for _, g := range guests {
		moves, _, errs := g.report()
		if moves > 0 || len(errs) > 0 || g.pod == "" {
			t.Errorf("a client left its pod %d times: %v", moves, errs)
		}
	}
}

// revision is the digest of what the plane wants of a fleet.
func revision(t *testing.T, r *rig.Rig, fleet string) string {
	t.Helper()
	f, err := r.FleetState(fleet)
	if err != nil {
		t.Fatal(err)
	}
	return f.GetRevision().GetDigest()
}
