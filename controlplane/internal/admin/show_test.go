package admin

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/controlplane/internal/view"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func rendered(t *testing.T, r *rig, format adminv1.RenderFormat) string {
	t.Helper()
	stream, err := r.client.Render(t.Context(), &adminv1.RenderRequest{Fleet: "default", Format: format})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(m.GetText()) > renderPiece {
			t.Errorf("a piece of %d bytes", len(m.GetText()))
		}
		b.WriteString(m.GetText())
	}
}

func TestRender(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop+lost)
	head := r.published("default", hasBackend("shop_web_80"))
	var d view.Document
	if err := json.Unmarshal([]byte(rendered(t, r, adminv1.RenderFormat_RENDER_FORMAT_JSON)), &d); err != nil {
		t.Fatal(err)
	}
	if d.Fleet != "default" || d.Revision != head.Revision.Digest().String() || len(d.Backends) != 1 || len(d.Routes) != 2 ||
		len(d.Backends[0].Slots) != 4 || len(d.Rejected)+len(d.Warned) != 1 || len(d.Sources) != 1 {
		t.Errorf("the document: %+v", d)
	}
	config := rendered(t, r, adminv1.RenderFormat_RENDER_FORMAT_HAPROXY)
	if !strings.Contains(config, "backend shop_web_80 from berth\n") || !strings.Contains(config, "server s2 10.0.0.2:8080 id 2 weight 100") {
		t.Errorf("the configuration:\n%s", config)
	}
}

func TestExplain(t *testing.T) {
	r := start(t, "home")
	r.synced("home", shop+lost)
	r.published("default", hasBackend("shop_web_80"))
	x, err := r.client.Explain(t.Context(), &adminv1.ExplainRequest{Url: "http://shop.example.com/cart"})
	if err != nil || x.GetOutcome() != adminv1.Outcome_OUTCOME_BACKEND || x.GetBackend() != "shop_web_80" || len(x.GetSlots()) != 3 {
		t.Errorf("explained: %v, %v", x, err)
	}
	x, err = r.client.Explain(t.Context(), &adminv1.ExplainRequest{Url: "http://nobody.example.com/"})
	if err != nil || x.GetOutcome() != adminv1.Outcome_OUTCOME_STATUS || x.GetStatus() != 404 {
		t.Errorf("a host that nobody names: %v, %v", x, err)
	}
}
