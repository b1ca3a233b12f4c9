package view

import (
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/explain"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// Explanation is the answer of the admin API to Explain.
func Explanation(x compile.Explanation) *adminv1.ExplainResponse {
	out := &adminv1.ExplainResponse{
		Url: x.URL, Outcome: outcomes[x.Outcome], Status: uint32(x.Status), Location: x.Location, //nolint:gosec // A status has three digits.
		Host: x.Host, Path: x.Path, Match: x.Match,
		Backend: x.Backend, Service: x.Service, Steps: x.Steps, Objects: x.Objects, Certificate: x.Certificate,
	}
	for _, s := range x.Slots {
		out.Slots = append(out.Slots, ShowSlot(s.Number, s.Slot))
	}
	return out
}

var outcomes = map[explain.Outcome]adminv1.Outcome{
	explain.ToBackend:  adminv1.Outcome_OUTCOME_BACKEND,
	explain.Redirected: adminv1.Outcome_OUTCOME_REDIRECT,
	explain.Answered:   adminv1.Outcome_OUTCOME_STATUS,
}

var states = map[snapshot.SlotState]adminv1.SlotState{
	snapshot.Free:  adminv1.SlotState_SLOT_STATE_FREE,
	snapshot.Ready: adminv1.SlotState_SLOT_STATE_READY,
	snapshot.Drain: adminv1.SlotState_SLOT_STATE_DRAIN,
}

// ShowSlot is a slot in the admin API. number counts from 1.
func ShowSlot(number int, s snapshot.Slot) *adminv1.Slot {
	out := &adminv1.Slot{
		Slot: uint32(number), State: states[s.State], //nolint:gosec // A table has at most snapshot.MaxSlots.
		Port: uint32(s.Port), Weight: uint32(s.Weight), Endpoint: s.Endpoint, Since: s.Since,
	}
	if s.State != snapshot.Free {
		out.Address = s.Address.String()
	}
	return out
}
