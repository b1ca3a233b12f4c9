package stream

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/controlplane/internal/node"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// maxInspected bounds one answer, in bytes: some ten times what a worker with 100,000 servers says.
const maxInspected = 64 << 20

// inspection is a question for the worker's own answer.
type inspection struct {
	backends []string
	answer   chan inspected // has room for one

	id    uint64
	since time.Time
	got   []*fleetv1.InspectedBackend
	bytes int
}

type inspected struct {
	backends []*fleetv1.InspectedBackend
	err      error
}

// inspect puts the question. There is one at a time.
func (x *session) inspect(i *inspection) {
	x.inspected++
	i.id, i.since = x.inspected, time.Now()
	x.inspecting = i
	ask := &fleetv1.Inspect{Id: i.id, Backends: i.backends}
	x.control = append(x.control, &fleetv1.SyncResponse{Message: &fleetv1.SyncResponse_Inspect{Inspect: ask}})
}

// answered takes in a frame of the answer.
func (x *session) answered(m *fleetv1.Inspected) error {
	i := x.inspecting
	if i == nil || m.GetId() != i.id {
		return status.Errorf(codes.InvalidArgument, "Inspected %d, which was not asked for", m.GetId())
	}
	i.since = time.Now()
	if code := m.GetCode(); code != fleetv1.Code_CODE_OK && code != fleetv1.Code_CODE_UNSPECIFIED {
		x.conclude(nil, &NodeError{node.Problem{Code: code, Message: m.GetMessage()}})
		return nil
	}
	if i.bytes += proto.Size(m); i.bytes > maxInspected {
		x.conclude(nil, ErrTooLarge)
		return status.Errorf(codes.ResourceExhausted, "an answer of more than %d bytes", maxInspected)
	}
	i.got = append(i.got, m.GetBackends()...)
	if m.GetLast() {
		x.conclude(i.got, nil)
	}
	return nil
}

func (x *session) conclude(backends []*fleetv1.InspectedBackend, err error) {
	x.inspecting.answer <- inspected{backends, err}
	x.inspecting = nil
}
