package wire

import (
	"fmt"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// The limits of what a node says.
const (
	// MaxNodeName bounds the names of fleets and nodes, MaxText what is written for people, MaxShort ids and versions of software.
	MaxNodeName = 253
	MaxText     = 4 << 10
	MaxShort    = 256
	// MaxRejected, MaxExcepted and MaxCapabilities bound the lists in a Hello and an Applied.
	MaxRejected     = 256
	MaxExcepted     = 65536
	MaxCapabilities = 64
)

// Text cuts what is written for people to what may be sent.
func Text(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), MaxText)], "?")
}

// CheckRequest says which limit a message of a node breaks, if one.
func CheckRequest(m *fleetv1.SyncRequest) error {
	switch x := m.GetMessage().(type) {
	case *fleetv1.SyncRequest_Hello:
		return checkHello(x.Hello)
	case *fleetv1.SyncRequest_Received:
		return checks("received", text(x.Received.GetMessage()), marks(x.Received.GetHeld()))
	case *fleetv1.SyncRequest_Applied:
		return checkApplied(x.Applied)
	case *fleetv1.SyncRequest_Rejected:
		return checks("rejected", text(x.Rejected.GetMessage()), mark(x.Rejected.GetRevision()))
	case *fleetv1.SyncRequest_Failed:
		return checks("failed", text(x.Failed.GetMessage()), marks(x.Failed.GetWanted()))
	case *fleetv1.SyncRequest_Buckets:
		return checkBucketsMessage(x.Buckets)
	case *fleetv1.SyncRequest_Positions:
		return checkPositions(x.Positions)
	case *fleetv1.SyncRequest_Inspected:
		return checks("inspected", text(x.Inspected.GetMessage()))
	case *fleetv1.SyncRequest_Heartbeat:
		return checks("heartbeat", marks(x.Heartbeat.GetNewest()))
	default: // Observed holds numbers only, and a message that is not known is ignored
		return nil
	}
}

func checkHello(h *fleetv1.Hello) error {
	if err := checks("hello", marks(h.GetHeld()), marks(h.GetApplied()), short(h.GetBootId()), short(h.GetAgentVersion()),
		haproxy(h.GetHaproxy())); err != nil {
		return err
	}
	for what, name := range map[string]string{"fleet": h.GetFleet(), "node": h.GetNode()} {
		if name == "" || len(name) > MaxNodeName {
			return invalid("hello", "the name of the %s has %d bytes, want 1 to %d", what, len(name), MaxNodeName)
		}
	}
	if len(h.GetRejected()) > MaxRejected {
		return invalid("hello", "%d rejected revisions, at most %d are possible", len(h.GetRejected()), MaxRejected)
	}
	for _, r := range h.GetRejected() {
		if err := checks("hello", text(r.GetMessage()), digest(r.GetDigest())); err != nil {
			return err
		}
	}
	return nil
}

func checkApplied(a *fleetv1.Applied) error {
	if err := checks("applied", marks(a.GetApplied()), haproxy(a.GetHaproxy())); err != nil {
		return err
	}
	if len(a.GetExcepted()) > MaxExcepted {
		return invalid("applied", "%d excepted slots, at most %d are possible", len(a.GetExcepted()), MaxExcepted)
	}
	for _, e := range a.GetExcepted() {
		if len(e.GetBackend()) > snapshot.MaxName || e.GetSlot() > snapshot.MaxSlots {
			return invalid("applied", "an excepted slot names slot %d of a backend of %d bytes", e.GetSlot(), len(e.GetBackend()))
		}
		if err := checks("applied", text(e.GetMessage())); err != nil {
			return err
		}
	}
	return nil
}

func checkBucketsMessage(b *fleetv1.Buckets) error {
	for _, n := range []int{len(b.GetRevision()), len(b.GetGeneration())} {
		if n != 0 && n != snapshot.Buckets*snapshot.DigestSize {
			return invalid("buckets", "%d bytes, want %d or none", n, snapshot.Buckets*snapshot.DigestSize)
		}
	}
	return checks("buckets", marks(b.GetHeld()))
}

// checks returns the first of the problems, as one of this message.
func checks(message string, problems ...string) error {
	for _, p := range problems {
		if p != "" {
			return invalid(message, "%s", p)
		}
	}
	return nil
}

func text(s string) string {
	if len(s) > MaxText {
		return "a text is longer than 4 KiB"
	}
	return ""
}

func short(s string) string {
	if len(s) > MaxShort {
		return "an id or a version is longer than 256 bytes"
	}
	return ""
}

func haproxy(h *fleetv1.HAProxy) string {
	if n := len(h.GetCapabilities()); n > MaxCapabilities {
		return fmt.Sprintf("%d capabilities, at most %d are possible", n, MaxCapabilities)
	}
	return short(h.GetVersion())
}

func digest(b []byte) string {
	if _, err := snapshot.DigestFromBytes(b); err != nil {
		return err.Error()
	}
	return ""
}

func mark(m *fleetv1.Mark) string { return digest(m.GetDigest()) }

func marks(m *fleetv1.Marks) string {
	if p := mark(m.GetRevision()); p != "" {
		return p
	}
	return mark(m.GetGeneration())
}
