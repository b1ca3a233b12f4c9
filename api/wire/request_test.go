package wire_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func TestText(t *testing.T) {
	for _, s := range []string{"", "fine", strings.Repeat("é", 4000), "x" + strings.Repeat("漢", 4000), "\xff\xfe", strings.Repeat("\xe6", 5000)} {
		got := wire.Text(s)
		if len(got) > wire.MaxText || !utf8.ValidString(got) || (len(s) < wire.MaxText && utf8.ValidString(s) && got != s) || (s != "" && got == "") {
			t.Errorf("%d bytes of text became %d", len(s), len(got))
		}
	}
}

func TestWIRE4_Requests(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	bad := &fleetv1.Marks{Generation: &fleetv1.Mark{Digest: []byte("x")}}
	digests := make([]byte, 8192)
	hello := func(change func(*fleetv1.Hello)) *fleetv1.SyncRequest {
		h := &fleetv1.Hello{Fleet: long(253), Node: "n", BootId: long(256), Haproxy: &fleetv1.HAProxy{Version: "3.4.7"}, Held: &fleetv1.Marks{}}
		change(h)
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Hello{Hello: h}}
	}
	applied := func(x *fleetv1.Applied) *fleetv1.SyncRequest {
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Applied{Applied: x}}
	}
	buckets := func(x *fleetv1.Buckets) *fleetv1.SyncRequest {
		return &fleetv1.SyncRequest{Message: &fleetv1.SyncRequest_Buckets{Buckets: x}}
	}
	for name, m := range map[string]*fleetv1.SyncRequest{
		"hello":       hello(func(*fleetv1.Hello) {}),
		"applied":     applied(&fleetv1.Applied{Excepted: []*fleetv1.ExceptedSlot{{Backend: "b", Slot: 1, Message: long(4096)}}}),
		"buckets":     buckets(&fleetv1.Buckets{Revision: digests}),
		"observed":    {Message: &fleetv1.SyncRequest_Observed{Observed: &fleetv1.Observed{}}},
		"of tomorrow": {},
	} {
		if err := wire.CheckRequest(m); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	for name, m := range map[string]*fleetv1.SyncRequest{
		"no fleet":            hello(func(h *fleetv1.Hello) { h.Fleet = "" }),
		"long node":           hello(func(h *fleetv1.Hello) { h.Node = long(254) }),
		"long boot id":        hello(func(h *fleetv1.Hello) { h.BootId = long(257) }),
		"long version":        hello(func(h *fleetv1.Hello) { h.Haproxy.Version = long(257) }),
		"held":                hello(func(h *fleetv1.Hello) { h.Held = bad }),
		"applied in hello":    hello(func(h *fleetv1.Hello) { h.Applied = bad }),
		"rejected digest":     hello(func(h *fleetv1.Hello) { h.Rejected = []*fleetv1.RejectedRevision{{Digest: []byte("x")}} }),
		"capabilities":        hello(func(h *fleetv1.Hello) { h.Haproxy.Capabilities = make([]fleetv1.Capability, wire.MaxCapabilities+1) }),
		"new capabilities":    applied(&fleetv1.Applied{Haproxy: &fleetv1.HAProxy{Capabilities: make([]fleetv1.Capability, wire.MaxCapabilities+1)}}),
		"too many rejected":   hello(func(h *fleetv1.Hello) { h.Rejected = make([]*fleetv1.RejectedRevision, wire.MaxRejected+1) }),
		"received":            {Message: &fleetv1.SyncRequest_Received{Received: &fleetv1.Received{Message: long(4097)}}},
		"received marks":      {Message: &fleetv1.SyncRequest_Received{Received: &fleetv1.Received{Held: bad}}},
		"applied marks":       applied(&fleetv1.Applied{Applied: bad}),
		"excepted backend":    applied(&fleetv1.Applied{Excepted: []*fleetv1.ExceptedSlot{{Backend: long(256)}}}),
		"excepted text":       applied(&fleetv1.Applied{Excepted: []*fleetv1.ExceptedSlot{{Message: long(4097)}}}),
		"too many excepted":   applied(&fleetv1.Applied{Excepted: make([]*fleetv1.ExceptedSlot, wire.MaxExcepted+1)}),
		"rejected":            {Message: &fleetv1.SyncRequest_Rejected{Rejected: &fleetv1.Rejected{Revision: bad.Generation}}},
		"failed":              {Message: &fleetv1.SyncRequest_Failed{Failed: &fleetv1.Failed{Wanted: bad}}},
		"half of the buckets": buckets(&fleetv1.Buckets{Generation: digests[:4096]}),
		"marks of buckets":    buckets(&fleetv1.Buckets{Held: bad}),
		"inspected":           {Message: &fleetv1.SyncRequest_Inspected{Inspected: &fleetv1.Inspected{Message: long(4097)}}},
		"heartbeat":           {Message: &fleetv1.SyncRequest_Heartbeat{Heartbeat: &fleetv1.Heartbeat{Newest: bad}}},
	} {
		if err := wire.CheckRequest(m); wire.CodeOf(err) != fleetv1.Code_CODE_INVALID {
			t.Errorf("%s: %v, want CODE_INVALID", name, err)
		}
	}
}

func TestCodeName(t *testing.T) {
	for c, want := range map[fleetv1.Code]string{
		fleetv1.Code_CODE_UNSPECIFIED: "", fleetv1.Code_CODE_OK: "OK", fleetv1.Code_CODE_OWN_LISTENER: "OWN_LISTENER", 999: "999",
	} {
		if got := wire.CodeName(c); got != want {
			t.Errorf("code %d is called %q, want %q", c, got, want)
		}
	}
}

// Who sees a code looks for it on the page that explains them.
func TestEveryCodeIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/debug.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := range fleetv1.Code_name {
		c := fleetv1.Code(n)
		if c != fleetv1.Code_CODE_UNSPECIFIED && c != fleetv1.Code_CODE_OK && !strings.Contains(string(page), "`"+wire.CodeName(c)+"`") {
			t.Errorf("docs/debug.md does not explain %s", wire.CodeName(c))
		}
	}
}
