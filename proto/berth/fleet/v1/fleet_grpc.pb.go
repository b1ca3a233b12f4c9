// The protocol between the control plane and the agent beside each HAProxy.
//
// One bidirectional stream for each node; the node dials out. Grammar, N for the node and P for the plane, "*" any number of times, "|" either:
//
//   stream  = N:Hello  P:(Wait end | Welcome)  ( N:report | P:update | resume | inspect | adopt | N:Heartbeat | P:Heartbeat )*
//   update  = P:Update( first frame … last frame )  N:Received
//   report  = N:Applied | N:Rejected | N:Failed | N:Observed
//   resume  = P:AskBuckets  N:Buckets                               at most one at a time, and between two updates
//   inspect = P:Inspect  N:Inspected( first frame … last frame )    at most one at a time
//   adopt   = P:AskPositions  N:Positions( first frame … last frame )    at most once, and before the first update
//
// Rules, and who ends the stream with which status if one is broken:
//
//   * Hello is the first message and comes once, within 10 s; else the plane ends with INVALID_ARGUMENT or DEADLINE_EXCEEDED.
//   * A plane with too many streams, in all or in a second, answers with Wait (code BUSY), which says after how long to come again, and ends with UNAVAILABLE. Nodes come back with
//     exponential back-off and full jitter, which start anew only after a stream has worked.
//   * One update is in flight: the plane sends no frame of the next before Received of the last. What changes meanwhile merges into the next one.
//   * An update counts only when its last frame is in. A stream that ends before leaves what the node had.
//   * Received says that the node holds the update, not that it runs it. Applied says what the worker itself has answered (read back). The plane counts
//     a version as a node's by Applied alone.
//   * Received, and the endpoint changes that it announces, never wait for a reload; Applied of the revision follows when the new worker serves.
//   * An update whose base digests are not what the node holds is answered by Received with code BASE_MISMATCH and the digests that it does hold. The plane relies on less each
//     time: it sends from what the node says now, then from its buckets, then everything, and ends the stream when not even that fits (INTERNAL). After DIGEST_MISMATCH or
//     INVALID it sends everything at once; after any other code it sends the update again, a little later each time.
//   * AskBuckets comes when the plane's log does not know what the node holds, at any time of the stream: after the Welcome, after BASE_MISMATCH, and after the log has let go of
//     what a slow node held. What the buckets differ in follows as the next update.
//   * The node takes no update whose epoch is below the highest that it has seen (Received with code OLD_EPOCH, which carries that epoch); the plane raises its own above it.
//   * A plane that has started with nothing asks for positions: where each endpoint sits, since when each slot has been free or draining. Of nodes that hold the same generation
//     it asks one. Until it has them, or has waited for 2 s after the first Hello (10 s where an answer is due), it sends no update (Welcome with code ADOPTING). Addresses, ports and names in
//     an answer are for finding the plane's own endpoints again, and enter no configuration. The digests of its tables add up to that of its generation; else the plane ends with INVALID_ARGUMENT.
//   * While a source has not been read (code FROZEN), a node that holds a revision is sent changes of the generation only, in the tables of the sources that have been read. The
//     marks of such updates are those of all that the node holds, other tables included.
//   * Epochs are at most 2^53 and numbers 2^62. A node that tells of a higher one is refused with INVALID_ARGUMENT. A plane that starts goes on above numbers up to 2^53 only, and one
//     whose nodes tell of the last epoch stays in that, so that what a node tells pushes no other out of what may be told.
//   * Both sides send a Heartbeat when they have sent nothing for 5 s. A peer that has heard nothing for 20 s ends the stream (UNAVAILABLE); a large message is heard while it comes
//     in. The plane's heartbeat names the newest versions, so that a node that is behind knows it.
//   * No answer (Received, Buckets, Inspected, Positions) within 60 s of an update's last frame or of the question ends the stream, and so does a message that the node does not read for
//     60 s: DEADLINE_EXCEEDED. Slowness alone does not: some 5 KB/s are enough.
//   * The same node name twice: the newest stream wins, the older ends with ABORTED.
//   * A node that says more than 1,000 things in a second is heard later; nothing else happens to it.
//   * Fields and messages that a peer does not know are ignored, so that either side may be upgraded first. An unknown enum value is treated as UNSPECIFIED.
//
// Limits. A side that is sent more ends the stream with RESOURCE_EXHAUSTED or INVALID_ARGUMENT and says what was too large:
//
//   message                                         4 MiB; a frame aims at 64 KiB
//   one update                                      65,536 frames, 256 MiB, 4,194,304 slots in all its tables
//   slots of a table                                65,536
//   name of a fleet or a node                       253 bytes
//   name of a backend, a map, a section or a host   255 bytes
//   name of an endpoint or a certificate            1,024 bytes
//   ids, versions of software                       256 bytes
//   text for people                                 4 KiB, cut by the sender
//   word of a line                                  2,048 bytes, no NUL, CR or LF
//   words of a line                                 64
//   all words of a resource                         3 MiB
//   key or value of a map's entry                   4,096 bytes, no white space, no control character
//   PEM of a certificate                            1 MiB
//   rejected revisions in a Hello                   256
//   capabilities of a HAProxy                       64
//   excepted slots in an Applied                    65,536
//   answer to an Inspect                            64 MiB in all its frames
//   streams of a connection                         128; one without any is closed after a minute
//   answer to AskPositions                          4,096 frames, 64 MiB, 1,048,576 told slots, 4,194,304 slots in all its tables

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.2
// - protoc             (unknown)
// source: berth/fleet/v1/fleet.proto

package fleetv1

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	FleetService_Sync_FullMethodName = "/berth.fleet.v1.FleetService/Sync"
)

// FleetServiceClient is the client API for FleetService service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
//
// FleetService serves the nodes.
type FleetServiceClient interface {
	// Sync is the one stream of a node. See the grammar at the top of this file.
	Sync(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[SyncRequest, SyncResponse], error)
}

type fleetServiceClient struct {
	cc grpc.ClientConnInterface
}

func NewFleetServiceClient(cc grpc.ClientConnInterface) FleetServiceClient {
	return &fleetServiceClient{cc}
}

func (c *fleetServiceClient) Sync(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[SyncRequest, SyncResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &FleetService_ServiceDesc.Streams[0], FleetService_Sync_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[SyncRequest, SyncResponse]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type FleetService_SyncClient = grpc.BidiStreamingClient[SyncRequest, SyncResponse]

// FleetServiceServer is the server API for FleetService service.
// All implementations must embed UnimplementedFleetServiceServer
// for forward compatibility.
//
// FleetService serves the nodes.
type FleetServiceServer interface {
	// Sync is the one stream of a node. See the grammar at the top of this file.
	Sync(grpc.BidiStreamingServer[SyncRequest, SyncResponse]) error
	mustEmbedUnimplementedFleetServiceServer()
}

// UnimplementedFleetServiceServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedFleetServiceServer struct{}

func (UnimplementedFleetServiceServer) Sync(grpc.BidiStreamingServer[SyncRequest, SyncResponse]) error {
	return status.Error(codes.Unimplemented, "method Sync not implemented")
}
func (UnimplementedFleetServiceServer) mustEmbedUnimplementedFleetServiceServer() {}
func (UnimplementedFleetServiceServer) testEmbeddedByValue()                      {}

// UnsafeFleetServiceServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to FleetServiceServer will
// result in compilation errors.
type UnsafeFleetServiceServer interface {
	mustEmbedUnimplementedFleetServiceServer()
}

func RegisterFleetServiceServer(s grpc.ServiceRegistrar, srv FleetServiceServer) {
	// If the following call panics, it indicates UnimplementedFleetServiceServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&FleetService_ServiceDesc, srv)
}

func _FleetService_Sync_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(FleetServiceServer).Sync(&grpc.GenericServerStream[SyncRequest, SyncResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type FleetService_SyncServer = grpc.BidiStreamingServer[SyncRequest, SyncResponse]

// FleetService_ServiceDesc is the grpc.ServiceDesc for FleetService service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var FleetService_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "berth.fleet.v1.FleetService",
	HandlerType: (*FleetServiceServer)(nil),
	Methods:     []grpc.MethodDesc{},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "Sync",
			Handler:       _FleetService_Sync_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
	},
	Metadata: "berth/fleet/v1/fleet.proto",
}
