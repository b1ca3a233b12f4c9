package wire

import (
	"google.golang.org/grpc/encoding"
	// The codec that everything but Encoded goes to.
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Encoded is a message that is marshalled already. A server with Codec sends it as it is: stream.SendMsg(encoded).
type Encoded struct{ head, body []byte }

// Encode marshals a message that is to be sent more than once.
func Encode(m *fleetv1.SyncResponse) (*Encoded, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, invalid("message", "%v", err)
	}
	return &Encoded{body: b}, nil
}

// Size is the number of bytes that travel.
func (e *Encoded) Size() int { return len(e.head) + len(e.body) }

// Shared is an update in the form that travels, for any number of streams: they differ in its id only. It is immutable.
type Shared struct {
	// frames are marshalled Updates without the field id.
	frames [][]byte
	size   int
}

// Share marshals the update once for all streams. Its ID is not looked at.
func Share(u Update) (*Shared, error) {
	u.ID = 0
	frames, err := Frames(u, FrameSize)
	if err != nil {
		return nil, err
	}
	s := &Shared{frames: make([][]byte, len(frames))}
	for i, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			return nil, invalid("frame", "%v", err)
		}
		s.frames[i] = b
		s.size += len(b)
	}
	return s, nil
}

// Len is the number of frames.
func (s *Shared) Len() int { return len(s.frames) }

// Size is about the number of bytes that travel.
func (s *Shared) Size() int { return s.size }

// The numbers of the fields that are written here by hand; a test holds them against the generated code.
const (
	responseUpdate protowire.Number = 3
	updateID       protowire.Number = 1
)

// Frame is the i-th frame as a SyncResponse of a stream in which the update has this id. It shares all bytes but the first few.
func (s *Shared) Frame(i int, id uint64) *Encoded {
	body := s.frames[i]
	idSize := protowire.SizeTag(updateID) + protowire.SizeVarint(id)
	head := make([]byte, 0, 24)
	head = protowire.AppendTag(head, responseUpdate, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(idSize+len(body))) //nolint:gosec // lengths are never negative
	head = protowire.AppendTag(head, updateID, protowire.VarintType)
	head = protowire.AppendVarint(head, id)
	return &Encoded{head, body}
}

// Codec is the codec of a server that sends Encoded messages: grpc.ForceServerCodecV2(wire.Codec()). Every other message goes to
// gRPC's own.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(grpcproto.Name)} }

type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	e, ok := v.(*Encoded)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	// SliceBuffer counts no references, so nothing gives the shared bytes back to a pool.
	out := make(mem.BufferSlice, 0, 2)
	if len(e.head) > 0 {
		out = append(out, mem.SliceBuffer(e.head))
	}
	return append(out, mem.SliceBuffer(e.body)), nil
}
