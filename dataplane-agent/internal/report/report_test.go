package report_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/dataplane-agent/internal/report"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

func applied(number uint64, seen time.Time) *fleetv1.Applied {
	return &fleetv1.Applied{
		Applied: &fleetv1.Marks{Generation: &fleetv1.Mark{Version: &fleetv1.Version{Epoch: 1, Number: number}}},
		By:      fleetv1.By_BY_RUNTIME, Seen: timestamppb.New(seen),
	}
}

func TestREPORT1_TheNewestIsTakenOnce(t *testing.T) {
	b := report.New()
	b.Applied(applied(1, time.Unix(10, 0)))
	b.Applied(applied(2, time.Unix(20, 0)))
	<-b.Wake()
	if got := b.Take().Applied.GetApplied().GetGeneration().GetVersion().GetNumber(); got != 2 {
		t.Errorf("took generation %d, want 2", got)
	}
	if n := b.Take(); n != (report.News{}) {
		t.Errorf("took %v again", n)
	}
}

func TestREPORT2_MergingHidesNoLatencyAndNoReload(t *testing.T) {
	b := report.New()
	first := applied(1, time.Unix(10, 0))
	first.By, first.Reason = fleetv1.By_BY_RELOAD, fleetv1.ReloadReason_RELOAD_REASON_BACKEND
	b.Applied(first)
	b.Applied(applied(2, time.Unix(20, 0)))
	got := b.Take().Applied
	if !got.GetSeen().AsTime().Equal(time.Unix(10, 0)) || got.GetBy() != fleetv1.By_BY_RELOAD {
		t.Errorf("merged into %v", got)
	}
}

func TestREPORT3_ANewStreamHearsAllThatHolds(t *testing.T) {
	b := report.New()
	b.Applied(applied(1, time.Unix(10, 0)))
	b.Failed(&fleetv1.Failed{Code: fleetv1.Code_CODE_DISK})
	b.Take()
	b.Again()
	n := b.Take()
	if n.Applied == nil || n.Applied.GetSeen() != nil || n.Failed.GetCode() != fleetv1.Code_CODE_DISK || n.Rejected != nil {
		t.Errorf("a new stream takes %v", n)
	}
}
