package compile

import (
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
)

// P10: an entry of a map whose backend the worker lacks, because the reload that brings it is still to come, answers 503 and never with another site's
// answer, not even with that of the fleet's default backend.
func TestABackendThatTheWorkerLacksAnswers503(t *testing.T) {
	p := newPods(t, "web", "owndefault")
	r := newRig(t)
	r.put("", p.yaml()+ingress("web", "", "defaultBackend: {service: {name: owndefault, port: {number: 80}}},", "x.example.com / web"))
	k := r.kept["default"]
	early := explain.Entry(snapshot.EntryKey(explain.Prefix, "x.example.com/early/"), "shop_early_http")
	ahead := &kept{generation: k.generation}
	ahead.revision = k.revision.Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{early.Key(): early}}, snapshot.Version{})
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		h := serve(t, haproxy, ahead)
		for target, want := range map[string]string{"/": "web", "/early": "503", "/early/bird": "503"} {
			if got, _ := h.ask(explain.Request{Host: "x.example.com", Target: target}); got != want {
				t.Errorf("%s: %s, want %s", target, got, want)
			}
		}
		if got, _ := h.ask(explain.Request{Host: "y.example.com", Target: "/"}); got != "owndefault" {
			t.Errorf("the fleet's default backend: %s", got)
		}
	})
}
