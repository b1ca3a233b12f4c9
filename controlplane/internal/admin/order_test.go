package admin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// sites is some services with an endpoint and a route each.
func sites(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `---
{apiVersion: v1, kind: Service, metadata: {name: s%[1]d, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: s%[1]d, namespace: shop}, spec: {ingressClassName: berth, rules: [
 {host: s%[1]d.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s%[1]d, port: {number: 80}}}}]}}]}}
`, i)
	}
	return b.String()
}

// ADM-6: what is held back is shown, and let go when an operator says so.
func TestADM6ReleaseGuard(t *testing.T) {
	r := start(t, "home", "other")
	r.guard.Deliver(source.Batch{Source: "home", Full: true, Put: r.rows("home", sites(0, 20)), State: &source.State{Listed: true, Synced: true}})
	r.synced("other", "")
	r.published("default", hasBackend("shop_s19_80"))
	var gone []source.Key
	for _, row := range r.rows("home", sites(0, 12)) {
		gone = append(gone, row.Key)
	}
	began := time.Now()
	r.guard.Deliver(source.Batch{Source: "home", Gone: gone})

	list, err := r.client.ListSources(t.Context(), &adminv1.ListSourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	home, other := list.GetSources()[0], list.GetSources()[1]
	held := home.GetHeld()
	if held.GetObjects() != 24 || held.GetBackends() != 12 || len(held.GetNames()) != 10 || held.GetNames()[0] != "Ingress shop/s0" {
		t.Errorf("held: %v", held)
	}
	if since := held.GetSince().AsTime(); since.Before(began) || held.GetUntil().AsTime().Sub(since) != 10*time.Second {
		t.Errorf("held since %s until %s", since, held.GetUntil().AsTime())
	}
	if home.GetObjects() != 40 || other.GetHeld() != nil {
		t.Errorf("the sources are %v", list)
	}

	for name, want := range map[string]codes.Code{"nowhere": codes.NotFound, "": codes.NotFound, "other": codes.FailedPrecondition} {
		_, err := r.client.ReleaseGuard(t.Context(), &adminv1.ReleaseGuardRequest{Source: name})
		wantCode(t, "release of source "+name, err, want)
	}
	answer, err := r.client.ReleaseGuard(t.Context(), &adminv1.ReleaseGuardRequest{Source: "home"})
	if err != nil || answer.GetObjectsRemoved() != 24 {
		t.Fatalf("%v, %v", answer, err)
	}
	list, err = r.client.ListSources(t.Context(), &adminv1.ListSourcesRequest{})
	if err != nil || list.GetSources()[0].GetObjects() != 16 || list.GetSources()[0].GetHeld() != nil {
		t.Errorf("after the answer: %v, %v", list, err)
	}
	r.published("default", func(h *changelog.Head) bool { return h.Revision.Backend("shop_s0_80") == nil })
	_, err = r.client.ReleaseGuard(t.Context(), &adminv1.ReleaseGuardRequest{Source: "home"})
	wantCode(t, "a second release", err, codes.FailedPrecondition)
}

// ADM-6: who forgets is the source, and what it says is told.
func TestADM6ForgetSource(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop)
	at := time.Unix(100, 0)
	r.forget = func(context.Context) (int, error) {
		r.store.Deliver(source.Batch{
			Source: "home", ByHand: true, Gone: []source.Key{r.rows("home", shop)[0].Key},
			State: &source.State{Listed: true, Synced: true, Forgotten: at, Ignored: "a.yaml: no YAML"},
		})
		return 1, nil
	}
	answer, err := r.client.ForgetSource(t.Context(), &adminv1.ForgetSourceRequest{Source: "home"})
	if err != nil || answer.GetObjectsRemoved() != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	if s := answer.GetSource(); !s.GetForgottenSince().AsTime().Equal(at) || s.GetForgotten() != "a.yaml: no YAML" || s.GetError() != "" || !s.GetSynced() || s.GetObjects() != 2 {
		t.Errorf("the source is %v", s)
	}
	for _, c := range []struct {
		name string
		err  error
		want codes.Code
	}{
		{"nowhere", nil, codes.NotFound},
		{"home", source.ErrNothingToForget, codes.FailedPrecondition},
		{"home", source.ErrEnded, codes.Unavailable},
		{"home", context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		r.forget = func(context.Context) (int, error) { return 0, c.err }
		_, err := r.client.ForgetSource(t.Context(), &adminv1.ForgetSourceRequest{Source: c.name})
		wantCode(t, fmt.Sprintf("%s, %v", c.name, c.err), err, c.want)
	}
	delete(r.server.Forgetters, "home")
	_, err = r.client.ForgetSource(t.Context(), &adminv1.ForgetSourceRequest{Source: "home"})
	wantCode(t, "a source that cannot forget", err, codes.FailedPrecondition)
}
