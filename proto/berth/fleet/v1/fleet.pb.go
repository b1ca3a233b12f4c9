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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12-devel
// 	protoc        (unknown)
// source: berth/fleet/v1/fleet.proto

package fleetv1

import (
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	durationpb "google.golang.org/protobuf/types/known/durationpb"
	timestamppb "google.golang.org/protobuf/types/known/timestamppb"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

// Capability is something that not every version of HAProxy can do at run time.
type Capability int32

const (
	Capability_CAPABILITY_UNSPECIFIED Capability = 0
	// `add server` works for the backends that Berth writes.
	Capability_CAPABILITY_ADD_SERVER Capability = 1
	// Maps are replaced in one step (`prepare map`, `commit map`).
	Capability_CAPABILITY_MAP_VERSIONS Capability = 2
	// `add backend` and `publish backend`.
	Capability_CAPABILITY_ADD_BACKEND Capability = 3
	// `wait … srv-removable`.
	Capability_CAPABILITY_WAIT Capability = 4
)

// Enum value maps for Capability.
var (
	Capability_name = map[int32]string{
		0: "CAPABILITY_UNSPECIFIED",
		1: "CAPABILITY_ADD_SERVER",
		2: "CAPABILITY_MAP_VERSIONS",
		3: "CAPABILITY_ADD_BACKEND",
		4: "CAPABILITY_WAIT",
	}
	Capability_value = map[string]int32{
		"CAPABILITY_UNSPECIFIED":  0,
		"CAPABILITY_ADD_SERVER":   1,
		"CAPABILITY_MAP_VERSIONS": 2,
		"CAPABILITY_ADD_BACKEND":  3,
		"CAPABILITY_WAIT":         4,
	}
)

func (x Capability) Enum() *Capability {
	p := new(Capability)
	*p = x
	return p
}

func (x Capability) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Capability) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[0].Descriptor()
}

func (Capability) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[0]
}

func (x Capability) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Capability.Descriptor instead.
func (Capability) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{0}
}

// Scope says what the resources of an update are.
type Scope int32

const (
	Scope_SCOPE_UNSPECIFIED Scope = 0
	// Changes to what the node holds, whose digests are `from`.
	Scope_SCOPE_CHANGES Scope = 1
	// Everything that is in the named buckets; the rest stays. `from` are the digests that the node's Buckets summed up to.
	Scope_SCOPE_BUCKETS Scope = 2
	// Everything there is. `from` is empty.
	Scope_SCOPE_EVERYTHING Scope = 3
)

// Enum value maps for Scope.
var (
	Scope_name = map[int32]string{
		0: "SCOPE_UNSPECIFIED",
		1: "SCOPE_CHANGES",
		2: "SCOPE_BUCKETS",
		3: "SCOPE_EVERYTHING",
	}
	Scope_value = map[string]int32{
		"SCOPE_UNSPECIFIED": 0,
		"SCOPE_CHANGES":     1,
		"SCOPE_BUCKETS":     2,
		"SCOPE_EVERYTHING":  3,
	}
)

func (x Scope) Enum() *Scope {
	p := new(Scope)
	*p = x
	return p
}

func (x Scope) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Scope) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[1].Descriptor()
}

func (Scope) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[1]
}

func (x Scope) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Scope.Descriptor instead.
func (Scope) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{1}
}

// SlotState is the state of a slot.
type SlotState int32

const (
	SlotState_SLOT_STATE_UNSPECIFIED SlotState = 0
	SlotState_SLOT_STATE_FREE        SlotState = 1
	SlotState_SLOT_STATE_READY       SlotState = 2
	SlotState_SLOT_STATE_DRAIN       SlotState = 3
)

// Enum value maps for SlotState.
var (
	SlotState_name = map[int32]string{
		0: "SLOT_STATE_UNSPECIFIED",
		1: "SLOT_STATE_FREE",
		2: "SLOT_STATE_READY",
		3: "SLOT_STATE_DRAIN",
	}
	SlotState_value = map[string]int32{
		"SLOT_STATE_UNSPECIFIED": 0,
		"SLOT_STATE_FREE":        1,
		"SLOT_STATE_READY":       2,
		"SLOT_STATE_DRAIN":       3,
	}
)

func (x SlotState) Enum() *SlotState {
	p := new(SlotState)
	*p = x
	return p
}

func (x SlotState) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (SlotState) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[2].Descriptor()
}

func (SlotState) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[2]
}

func (x SlotState) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use SlotState.Descriptor instead.
func (SlotState) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{2}
}

// By says how a state came into the worker.
type By int32

const (
	By_BY_UNSPECIFIED By = 0
	By_BY_RUNTIME     By = 1
	By_BY_RELOAD      By = 2
)

// Enum value maps for By.
var (
	By_name = map[int32]string{
		0: "BY_UNSPECIFIED",
		1: "BY_RUNTIME",
		2: "BY_RELOAD",
	}
	By_value = map[string]int32{
		"BY_UNSPECIFIED": 0,
		"BY_RUNTIME":     1,
		"BY_RELOAD":      2,
	}
)

func (x By) Enum() *By {
	p := new(By)
	*p = x
	return p
}

func (x By) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (By) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[3].Descriptor()
}

func (By) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[3]
}

func (x By) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use By.Descriptor instead.
func (By) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{3}
}

// ReloadReason says what the running worker could not take.
type ReloadReason int32

const (
	ReloadReason_RELOAD_REASON_UNSPECIFIED ReloadReason = 0
	// The node's first start of HAProxy.
	ReloadReason_RELOAD_REASON_START ReloadReason = 1
	// A section changed.
	ReloadReason_RELOAD_REASON_SECTION ReloadReason = 2
	// A backend came, went or changed.
	ReloadReason_RELOAD_REASON_BACKEND ReloadReason = 3
	// A slot table outgrew the worker and servers could not be added.
	ReloadReason_RELOAD_REASON_SLOTS ReloadReason = 4
	// A certificate came, went or changed.
	ReloadReason_RELOAD_REASON_CERTIFICATE ReloadReason = 5
	// A map came or went, or could not be changed at run time.
	ReloadReason_RELOAD_REASON_MAP ReloadReason = 6
	// The worker was not what the node had started.
	ReloadReason_RELOAD_REASON_REPAIR ReloadReason = 7
)

// Enum value maps for ReloadReason.
var (
	ReloadReason_name = map[int32]string{
		0: "RELOAD_REASON_UNSPECIFIED",
		1: "RELOAD_REASON_START",
		2: "RELOAD_REASON_SECTION",
		3: "RELOAD_REASON_BACKEND",
		4: "RELOAD_REASON_SLOTS",
		5: "RELOAD_REASON_CERTIFICATE",
		6: "RELOAD_REASON_MAP",
		7: "RELOAD_REASON_REPAIR",
	}
	ReloadReason_value = map[string]int32{
		"RELOAD_REASON_UNSPECIFIED": 0,
		"RELOAD_REASON_START":       1,
		"RELOAD_REASON_SECTION":     2,
		"RELOAD_REASON_BACKEND":     3,
		"RELOAD_REASON_SLOTS":       4,
		"RELOAD_REASON_CERTIFICATE": 5,
		"RELOAD_REASON_MAP":         6,
		"RELOAD_REASON_REPAIR":      7,
	}
)

func (x ReloadReason) Enum() *ReloadReason {
	p := new(ReloadReason)
	*p = x
	return p
}

func (x ReloadReason) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (ReloadReason) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[4].Descriptor()
}

func (ReloadReason) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[4]
}

func (x ReloadReason) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use ReloadReason.Descriptor instead.
func (ReloadReason) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{4}
}

// Code says what happened; texts are for people.
type Code int32

const (
	Code_CODE_UNSPECIFIED Code = 0
	Code_CODE_OK          Code = 1
	// Update: the base is not what the node holds.
	Code_CODE_BASE_MISMATCH Code = 2
	// Update: its epoch is below one that the node has seen.
	Code_CODE_OLD_EPOCH Code = 3
	// Update: the content does not have the digest that was announced.
	Code_CODE_DIGEST_MISMATCH Code = 4
	// A message or a resource breaks a limit or a rule of this file.
	Code_CODE_INVALID Code = 5
	// HAProxy refuses the configuration (haproxy -c, or at a reload).
	Code_CODE_CONFIG_REFUSED Code = 6
	// The node's disk cannot be written.
	Code_CODE_DISK Code = 7
	// A port is taken or may not be bound.
	Code_CODE_BIND Code = 8
	// Not enough file descriptors, memory or processes.
	Code_CODE_RESOURCES Code = 9
	// The worker or the master does not answer.
	Code_CODE_UNREACHABLE Code = 10
	// HAProxy could not be started.
	Code_CODE_START Code = 11
	// The slot's address is a listener of this very HAProxy.
	Code_CODE_OWN_LISTENER Code = 12
	// HAProxy refused the slot's address, port or state.
	Code_CODE_SLOT_REFUSED Code = 13
	// The worker answers, but does not show what was written.
	Code_CODE_NOT_VISIBLE Code = 14
	// No Fleet of this name.
	Code_CODE_UNKNOWN_FLEET Code = 15
	// The fleet waits for its sources' first lists.
	Code_CODE_FROZEN Code = 16
	// Too many streams, in all or in a second.
	Code_CODE_BUSY Code = 17
	// Something else; the message tells.
	Code_CODE_INTERNAL Code = 18
	// Too many old workers, or too soon after the last reload: the revision waits.
	Code_CODE_PACED Code = 19
	// The plane has just started and learns from the nodes which slot is whose; nothing is sent until then, some seconds at most.
	Code_CODE_ADOPTING Code = 20
)

// Enum value maps for Code.
var (
	Code_name = map[int32]string{
		0:  "CODE_UNSPECIFIED",
		1:  "CODE_OK",
		2:  "CODE_BASE_MISMATCH",
		3:  "CODE_OLD_EPOCH",
		4:  "CODE_DIGEST_MISMATCH",
		5:  "CODE_INVALID",
		6:  "CODE_CONFIG_REFUSED",
		7:  "CODE_DISK",
		8:  "CODE_BIND",
		9:  "CODE_RESOURCES",
		10: "CODE_UNREACHABLE",
		11: "CODE_START",
		12: "CODE_OWN_LISTENER",
		13: "CODE_SLOT_REFUSED",
		14: "CODE_NOT_VISIBLE",
		15: "CODE_UNKNOWN_FLEET",
		16: "CODE_FROZEN",
		17: "CODE_BUSY",
		18: "CODE_INTERNAL",
		19: "CODE_PACED",
		20: "CODE_ADOPTING",
	}
	Code_value = map[string]int32{
		"CODE_UNSPECIFIED":     0,
		"CODE_OK":              1,
		"CODE_BASE_MISMATCH":   2,
		"CODE_OLD_EPOCH":       3,
		"CODE_DIGEST_MISMATCH": 4,
		"CODE_INVALID":         5,
		"CODE_CONFIG_REFUSED":  6,
		"CODE_DISK":            7,
		"CODE_BIND":            8,
		"CODE_RESOURCES":       9,
		"CODE_UNREACHABLE":     10,
		"CODE_START":           11,
		"CODE_OWN_LISTENER":    12,
		"CODE_SLOT_REFUSED":    13,
		"CODE_NOT_VISIBLE":     14,
		"CODE_UNKNOWN_FLEET":   15,
		"CODE_FROZEN":          16,
		"CODE_BUSY":            17,
		"CODE_INTERNAL":        18,
		"CODE_PACED":           19,
		"CODE_ADOPTING":        20,
	}
)

func (x Code) Enum() *Code {
	p := new(Code)
	*p = x
	return p
}

func (x Code) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Code) Descriptor() protoreflect.EnumDescriptor {
	return file_berth_fleet_v1_fleet_proto_enumTypes[5].Descriptor()
}

func (Code) Type() protoreflect.EnumType {
	return &file_berth_fleet_v1_fleet_proto_enumTypes[5]
}

func (x Code) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Code.Descriptor instead.
func (Code) EnumDescriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{5}
}

// SyncRequest is a message of the node.
type SyncRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Message:
	//
	//	*SyncRequest_Hello
	//	*SyncRequest_Received
	//	*SyncRequest_Applied
	//	*SyncRequest_Rejected
	//	*SyncRequest_Failed
	//	*SyncRequest_Observed
	//	*SyncRequest_Buckets
	//	*SyncRequest_Inspected
	//	*SyncRequest_Heartbeat
	//	*SyncRequest_Positions
	Message       isSyncRequest_Message `protobuf_oneof:"message"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SyncRequest) Reset() {
	*x = SyncRequest{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SyncRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SyncRequest) ProtoMessage() {}

func (x *SyncRequest) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SyncRequest.ProtoReflect.Descriptor instead.
func (*SyncRequest) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{0}
}

func (x *SyncRequest) GetMessage() isSyncRequest_Message {
	if x != nil {
		return x.Message
	}
	return nil
}

func (x *SyncRequest) GetHello() *Hello {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Hello); ok {
			return x.Hello
		}
	}
	return nil
}

func (x *SyncRequest) GetReceived() *Received {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Received); ok {
			return x.Received
		}
	}
	return nil
}

func (x *SyncRequest) GetApplied() *Applied {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Applied); ok {
			return x.Applied
		}
	}
	return nil
}

func (x *SyncRequest) GetRejected() *Rejected {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Rejected); ok {
			return x.Rejected
		}
	}
	return nil
}

func (x *SyncRequest) GetFailed() *Failed {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Failed); ok {
			return x.Failed
		}
	}
	return nil
}

func (x *SyncRequest) GetObserved() *Observed {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Observed); ok {
			return x.Observed
		}
	}
	return nil
}

func (x *SyncRequest) GetBuckets() *Buckets {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Buckets); ok {
			return x.Buckets
		}
	}
	return nil
}

func (x *SyncRequest) GetInspected() *Inspected {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Inspected); ok {
			return x.Inspected
		}
	}
	return nil
}

func (x *SyncRequest) GetHeartbeat() *Heartbeat {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Heartbeat); ok {
			return x.Heartbeat
		}
	}
	return nil
}

func (x *SyncRequest) GetPositions() *Positions {
	if x != nil {
		if x, ok := x.Message.(*SyncRequest_Positions); ok {
			return x.Positions
		}
	}
	return nil
}

type isSyncRequest_Message interface {
	isSyncRequest_Message()
}

type SyncRequest_Hello struct {
	Hello *Hello `protobuf:"bytes,1,opt,name=hello,proto3,oneof"`
}

type SyncRequest_Received struct {
	Received *Received `protobuf:"bytes,2,opt,name=received,proto3,oneof"`
}

type SyncRequest_Applied struct {
	Applied *Applied `protobuf:"bytes,3,opt,name=applied,proto3,oneof"`
}

type SyncRequest_Rejected struct {
	Rejected *Rejected `protobuf:"bytes,4,opt,name=rejected,proto3,oneof"`
}

type SyncRequest_Failed struct {
	Failed *Failed `protobuf:"bytes,5,opt,name=failed,proto3,oneof"`
}

type SyncRequest_Observed struct {
	Observed *Observed `protobuf:"bytes,6,opt,name=observed,proto3,oneof"`
}

type SyncRequest_Buckets struct {
	Buckets *Buckets `protobuf:"bytes,7,opt,name=buckets,proto3,oneof"`
}

type SyncRequest_Inspected struct {
	Inspected *Inspected `protobuf:"bytes,8,opt,name=inspected,proto3,oneof"`
}

type SyncRequest_Heartbeat struct {
	Heartbeat *Heartbeat `protobuf:"bytes,9,opt,name=heartbeat,proto3,oneof"`
}

type SyncRequest_Positions struct {
	Positions *Positions `protobuf:"bytes,10,opt,name=positions,proto3,oneof"`
}

func (*SyncRequest_Hello) isSyncRequest_Message() {}

func (*SyncRequest_Received) isSyncRequest_Message() {}

func (*SyncRequest_Applied) isSyncRequest_Message() {}

func (*SyncRequest_Rejected) isSyncRequest_Message() {}

func (*SyncRequest_Failed) isSyncRequest_Message() {}

func (*SyncRequest_Observed) isSyncRequest_Message() {}

func (*SyncRequest_Buckets) isSyncRequest_Message() {}

func (*SyncRequest_Inspected) isSyncRequest_Message() {}

func (*SyncRequest_Heartbeat) isSyncRequest_Message() {}

func (*SyncRequest_Positions) isSyncRequest_Message() {}

// SyncResponse is a message of the plane.
type SyncResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Types that are valid to be assigned to Message:
	//
	//	*SyncResponse_Welcome
	//	*SyncResponse_Wait
	//	*SyncResponse_Update
	//	*SyncResponse_AskBuckets
	//	*SyncResponse_Inspect
	//	*SyncResponse_Heartbeat
	//	*SyncResponse_AskPositions
	Message       isSyncResponse_Message `protobuf_oneof:"message"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SyncResponse) Reset() {
	*x = SyncResponse{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SyncResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SyncResponse) ProtoMessage() {}

func (x *SyncResponse) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SyncResponse.ProtoReflect.Descriptor instead.
func (*SyncResponse) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{1}
}

func (x *SyncResponse) GetMessage() isSyncResponse_Message {
	if x != nil {
		return x.Message
	}
	return nil
}

func (x *SyncResponse) GetWelcome() *Welcome {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_Welcome); ok {
			return x.Welcome
		}
	}
	return nil
}

func (x *SyncResponse) GetWait() *Wait {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_Wait); ok {
			return x.Wait
		}
	}
	return nil
}

func (x *SyncResponse) GetUpdate() *Update {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_Update); ok {
			return x.Update
		}
	}
	return nil
}

func (x *SyncResponse) GetAskBuckets() *AskBuckets {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_AskBuckets); ok {
			return x.AskBuckets
		}
	}
	return nil
}

func (x *SyncResponse) GetInspect() *Inspect {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_Inspect); ok {
			return x.Inspect
		}
	}
	return nil
}

func (x *SyncResponse) GetHeartbeat() *Heartbeat {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_Heartbeat); ok {
			return x.Heartbeat
		}
	}
	return nil
}

func (x *SyncResponse) GetAskPositions() *AskPositions {
	if x != nil {
		if x, ok := x.Message.(*SyncResponse_AskPositions); ok {
			return x.AskPositions
		}
	}
	return nil
}

type isSyncResponse_Message interface {
	isSyncResponse_Message()
}

type SyncResponse_Welcome struct {
	Welcome *Welcome `protobuf:"bytes,1,opt,name=welcome,proto3,oneof"`
}

type SyncResponse_Wait struct {
	Wait *Wait `protobuf:"bytes,2,opt,name=wait,proto3,oneof"`
}

type SyncResponse_Update struct {
	Update *Update `protobuf:"bytes,3,opt,name=update,proto3,oneof"`
}

type SyncResponse_AskBuckets struct {
	AskBuckets *AskBuckets `protobuf:"bytes,4,opt,name=ask_buckets,json=askBuckets,proto3,oneof"`
}

type SyncResponse_Inspect struct {
	Inspect *Inspect `protobuf:"bytes,5,opt,name=inspect,proto3,oneof"`
}

type SyncResponse_Heartbeat struct {
	Heartbeat *Heartbeat `protobuf:"bytes,6,opt,name=heartbeat,proto3,oneof"`
}

type SyncResponse_AskPositions struct {
	AskPositions *AskPositions `protobuf:"bytes,7,opt,name=ask_positions,json=askPositions,proto3,oneof"`
}

func (*SyncResponse_Welcome) isSyncResponse_Message() {}

func (*SyncResponse_Wait) isSyncResponse_Message() {}

func (*SyncResponse_Update) isSyncResponse_Message() {}

func (*SyncResponse_AskBuckets) isSyncResponse_Message() {}

func (*SyncResponse_Inspect) isSyncResponse_Message() {}

func (*SyncResponse_Heartbeat) isSyncResponse_Message() {}

func (*SyncResponse_AskPositions) isSyncResponse_Message() {}

// Version orders the values of one clock of one fleet; the zero Version (both fields 0) is older than every other.
type Version struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// One more than the largest that the plane knew of when it started to lead; never from a clock.
	Epoch         uint64 `protobuf:"varint,1,opt,name=epoch,proto3" json:"epoch,omitempty"`
	Number        uint64 `protobuf:"varint,2,opt,name=number,proto3" json:"number,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Version) Reset() {
	*x = Version{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Version) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Version) ProtoMessage() {}

func (x *Version) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Version.ProtoReflect.Descriptor instead.
func (*Version) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{2}
}

func (x *Version) GetEpoch() uint64 {
	if x != nil {
		return x.Epoch
	}
	return 0
}

func (x *Version) GetNumber() uint64 {
	if x != nil {
		return x.Number
	}
	return 0
}

// Mark is a version with the digest of its content: order comes from the version, identity from the digest.
type Mark struct {
	state   protoimpl.MessageState `protogen:"open.v1"`
	Version *Version               `protobuf:"bytes,1,opt,name=version,proto3" json:"version,omitempty"`
	// 32 bytes, or empty for the empty content.
	Digest        []byte `protobuf:"bytes,2,opt,name=digest,proto3" json:"digest,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Mark) Reset() {
	*x = Mark{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Mark) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Mark) ProtoMessage() {}

func (x *Mark) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Mark.ProtoReflect.Descriptor instead.
func (*Mark) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{3}
}

func (x *Mark) GetVersion() *Version {
	if x != nil {
		return x.Version
	}
	return nil
}

func (x *Mark) GetDigest() []byte {
	if x != nil {
		return x.Digest
	}
	return nil
}

// Marks are both clocks at once.
type Marks struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Revision      *Mark                  `protobuf:"bytes,1,opt,name=revision,proto3" json:"revision,omitempty"`
	Generation    *Mark                  `protobuf:"bytes,2,opt,name=generation,proto3" json:"generation,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Marks) Reset() {
	*x = Marks{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Marks) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Marks) ProtoMessage() {}

func (x *Marks) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Marks.ProtoReflect.Descriptor instead.
func (*Marks) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{4}
}

func (x *Marks) GetRevision() *Mark {
	if x != nil {
		return x.Revision
	}
	return nil
}

func (x *Marks) GetGeneration() *Mark {
	if x != nil {
		return x.Generation
	}
	return nil
}

// Hello says who the node is and what it has, so that the plane sends what is missing only.
type Hello struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Fleet string                 `protobuf:"bytes,1,opt,name=fleet,proto3" json:"fleet,omitempty"`
	Node  string                 `protobuf:"bytes,2,opt,name=node,proto3" json:"node,omitempty"`
	// A random value of this start of the agent.
	BootId       string   `protobuf:"bytes,3,opt,name=boot_id,json=bootId,proto3" json:"boot_id,omitempty"`
	AgentVersion string   `protobuf:"bytes,4,opt,name=agent_version,json=agentVersion,proto3" json:"agent_version,omitempty"`
	Haproxy      *HAProxy `protobuf:"bytes,5,opt,name=haproxy,proto3" json:"haproxy,omitempty"`
	// The newest that the node holds from a plane or its own disk: the base of the next update.
	Held *Marks `protobuf:"bytes,6,opt,name=held,proto3" json:"held,omitempty"`
	// What the running worker has been read to have. Equal to held when nothing is under way.
	Applied *Marks `protobuf:"bytes,7,opt,name=applied,proto3" json:"applied,omitempty"`
	// A batch was begun and not yet read back, or the worker was found to differ: applied is then not to be relied on.
	Dirty bool `protobuf:"varint,8,opt,name=dirty,proto3" json:"dirty,omitempty"`
	// The highest epoch that the node has seen.
	Epoch uint64 `protobuf:"varint,9,opt,name=epoch,proto3" json:"epoch,omitempty"`
	// The revisions that this HAProxy has refused since the node started; the plane does not send them again.
	Rejected      []*RejectedRevision `protobuf:"bytes,10,rep,name=rejected,proto3" json:"rejected,omitempty"`
	Worker        *Worker             `protobuf:"bytes,11,opt,name=worker,proto3" json:"worker,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Hello) Reset() {
	*x = Hello{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Hello) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Hello) ProtoMessage() {}

func (x *Hello) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Hello.ProtoReflect.Descriptor instead.
func (*Hello) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{5}
}

func (x *Hello) GetFleet() string {
	if x != nil {
		return x.Fleet
	}
	return ""
}

func (x *Hello) GetNode() string {
	if x != nil {
		return x.Node
	}
	return ""
}

func (x *Hello) GetBootId() string {
	if x != nil {
		return x.BootId
	}
	return ""
}

func (x *Hello) GetAgentVersion() string {
	if x != nil {
		return x.AgentVersion
	}
	return ""
}

func (x *Hello) GetHaproxy() *HAProxy {
	if x != nil {
		return x.Haproxy
	}
	return nil
}

func (x *Hello) GetHeld() *Marks {
	if x != nil {
		return x.Held
	}
	return nil
}

func (x *Hello) GetApplied() *Marks {
	if x != nil {
		return x.Applied
	}
	return nil
}

func (x *Hello) GetDirty() bool {
	if x != nil {
		return x.Dirty
	}
	return false
}

func (x *Hello) GetEpoch() uint64 {
	if x != nil {
		return x.Epoch
	}
	return 0
}

func (x *Hello) GetRejected() []*RejectedRevision {
	if x != nil {
		return x.Rejected
	}
	return nil
}

func (x *Hello) GetWorker() *Worker {
	if x != nil {
		return x.Worker
	}
	return nil
}

// HAProxy is the binary and what its worker was found to be able to do by trying.
type HAProxy struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Version       string                 `protobuf:"bytes,1,opt,name=version,proto3" json:"version,omitempty"`
	Capabilities  []Capability           `protobuf:"varint,2,rep,packed,name=capabilities,proto3,enum=berth.fleet.v1.Capability" json:"capabilities,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *HAProxy) Reset() {
	*x = HAProxy{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *HAProxy) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*HAProxy) ProtoMessage() {}

func (x *HAProxy) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use HAProxy.ProtoReflect.Descriptor instead.
func (*HAProxy) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{6}
}

func (x *HAProxy) GetVersion() string {
	if x != nil {
		return x.Version
	}
	return ""
}

func (x *HAProxy) GetCapabilities() []Capability {
	if x != nil {
		return x.Capabilities
	}
	return nil
}

// Worker is one HAProxy worker process.
type Worker struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Pid   int64                  `protobuf:"varint,1,opt,name=pid,proto3" json:"pid,omitempty"`
	// Start of the process in clock ticks since the machine's boot: with the pid it is unique on the node.
	StartTicks    uint64 `protobuf:"varint,2,opt,name=start_ticks,json=startTicks,proto3" json:"start_ticks,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Worker) Reset() {
	*x = Worker{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Worker) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Worker) ProtoMessage() {}

func (x *Worker) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Worker.ProtoReflect.Descriptor instead.
func (*Worker) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{7}
}

func (x *Worker) GetPid() int64 {
	if x != nil {
		return x.Pid
	}
	return 0
}

func (x *Worker) GetStartTicks() uint64 {
	if x != nil {
		return x.StartTicks
	}
	return 0
}

// RejectedRevision is remembered for that content, HAProxy version and boot of the node.
type RejectedRevision struct {
	state  protoimpl.MessageState `protogen:"open.v1"`
	Digest []byte                 `protobuf:"bytes,1,opt,name=digest,proto3" json:"digest,omitempty"`
	Code   Code                   `protobuf:"varint,2,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	// HAProxy's own words.
	Message       string `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RejectedRevision) Reset() {
	*x = RejectedRevision{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RejectedRevision) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RejectedRevision) ProtoMessage() {}

func (x *RejectedRevision) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RejectedRevision.ProtoReflect.Descriptor instead.
func (*RejectedRevision) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{8}
}

func (x *RejectedRevision) GetDigest() []byte {
	if x != nil {
		return x.Digest
	}
	return nil
}

func (x *RejectedRevision) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *RejectedRevision) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// Welcome ends the greeting: updates follow if the node is behind.
type Welcome struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The plane's epoch, above every epoch that it has heard of.
	Epoch uint64 `protobuf:"varint,1,opt,name=epoch,proto3" json:"epoch,omitempty"`
	// Why nothing is sent for now, if so: the fleet is not known, or frozen.
	Waiting       Code   `protobuf:"varint,2,opt,name=waiting,proto3,enum=berth.fleet.v1.Code" json:"waiting,omitempty"`
	Message       string `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Welcome) Reset() {
	*x = Welcome{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Welcome) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Welcome) ProtoMessage() {}

func (x *Welcome) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Welcome.ProtoReflect.Descriptor instead.
func (*Welcome) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{9}
}

func (x *Welcome) GetEpoch() uint64 {
	if x != nil {
		return x.Epoch
	}
	return 0
}

func (x *Welcome) GetWaiting() Code {
	if x != nil {
		return x.Waiting
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Welcome) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// Wait refuses a stream for now. The plane ends it after this message.
type Wait struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	RetryAfter    *durationpb.Duration   `protobuf:"bytes,1,opt,name=retry_after,json=retryAfter,proto3" json:"retry_after,omitempty"`
	Code          Code                   `protobuf:"varint,2,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message       string                 `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Wait) Reset() {
	*x = Wait{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[10]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Wait) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Wait) ProtoMessage() {}

func (x *Wait) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[10]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Wait.ProtoReflect.Descriptor instead.
func (*Wait) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{10}
}

func (x *Wait) GetRetryAfter() *durationpb.Duration {
	if x != nil {
		return x.RetryAfter
	}
	return nil
}

func (x *Wait) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Wait) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// Update is one frame of an update.
type Update struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Grows by one with each update of the stream; the same in all frames of one.
	Id uint64 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	// Counts the frames of an update from 0.
	Frame uint32 `protobuf:"varint,2,opt,name=frame,proto3" json:"frame,omitempty"`
	Last  bool   `protobuf:"varint,3,opt,name=last,proto3" json:"last,omitempty"`
	// In frame 0 only: what the changes start from and what they lead to. A clock that does not change has no mark in `to`.
	From  *Marks `protobuf:"bytes,4,opt,name=from,proto3" json:"from,omitempty"`
	To    *Marks `protobuf:"bytes,5,opt,name=to,proto3" json:"to,omitempty"`
	Scope Scope  `protobuf:"varint,6,opt,name=scope,proto3,enum=berth.fleet.v1.Scope" json:"scope,omitempty"`
	// With SCOPE_BUCKETS: the buckets that these resources replace.
	RevisionBuckets   []uint32 `protobuf:"varint,7,rep,packed,name=revision_buckets,json=revisionBuckets,proto3" json:"revision_buckets,omitempty"`
	GenerationBuckets []uint32 `protobuf:"varint,8,rep,packed,name=generation_buckets,json=generationBuckets,proto3" json:"generation_buckets,omitempty"`
	// When the oldest change in it was seen by its source, by the plane's clock; echoed by Received and Applied.
	Seen         *timestamppb.Timestamp `protobuf:"bytes,9,opt,name=seen,proto3" json:"seen,omitempty"`
	Sections     []*Section             `protobuf:"bytes,10,rep,name=sections,proto3" json:"sections,omitempty"`
	Backends     []*Backend             `protobuf:"bytes,11,rep,name=backends,proto3" json:"backends,omitempty"`
	Maps         []*Map                 `protobuf:"bytes,12,rep,name=maps,proto3" json:"maps,omitempty"`
	Certificates []*Certificate         `protobuf:"bytes,13,rep,name=certificates,proto3" json:"certificates,omitempty"`
	Tables       []*Table               `protobuf:"bytes,14,rep,name=tables,proto3" json:"tables,omitempty"`
	// Keys of sections ("type name"), backends, maps and certificates that go.
	RemovedSections     []string `protobuf:"bytes,15,rep,name=removed_sections,json=removedSections,proto3" json:"removed_sections,omitempty"`
	RemovedBackends     []string `protobuf:"bytes,16,rep,name=removed_backends,json=removedBackends,proto3" json:"removed_backends,omitempty"`
	RemovedMaps         []string `protobuf:"bytes,17,rep,name=removed_maps,json=removedMaps,proto3" json:"removed_maps,omitempty"`
	RemovedCertificates []string `protobuf:"bytes,18,rep,name=removed_certificates,json=removedCertificates,proto3" json:"removed_certificates,omitempty"`
	// Backends whose tables go.
	RemovedTables []string `protobuf:"bytes,19,rep,name=removed_tables,json=removedTables,proto3" json:"removed_tables,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Update) Reset() {
	*x = Update{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[11]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Update) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Update) ProtoMessage() {}

func (x *Update) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[11]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Update.ProtoReflect.Descriptor instead.
func (*Update) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{11}
}

func (x *Update) GetId() uint64 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Update) GetFrame() uint32 {
	if x != nil {
		return x.Frame
	}
	return 0
}

func (x *Update) GetLast() bool {
	if x != nil {
		return x.Last
	}
	return false
}

func (x *Update) GetFrom() *Marks {
	if x != nil {
		return x.From
	}
	return nil
}

func (x *Update) GetTo() *Marks {
	if x != nil {
		return x.To
	}
	return nil
}

func (x *Update) GetScope() Scope {
	if x != nil {
		return x.Scope
	}
	return Scope_SCOPE_UNSPECIFIED
}

func (x *Update) GetRevisionBuckets() []uint32 {
	if x != nil {
		return x.RevisionBuckets
	}
	return nil
}

func (x *Update) GetGenerationBuckets() []uint32 {
	if x != nil {
		return x.GenerationBuckets
	}
	return nil
}

func (x *Update) GetSeen() *timestamppb.Timestamp {
	if x != nil {
		return x.Seen
	}
	return nil
}

func (x *Update) GetSections() []*Section {
	if x != nil {
		return x.Sections
	}
	return nil
}

func (x *Update) GetBackends() []*Backend {
	if x != nil {
		return x.Backends
	}
	return nil
}

func (x *Update) GetMaps() []*Map {
	if x != nil {
		return x.Maps
	}
	return nil
}

func (x *Update) GetCertificates() []*Certificate {
	if x != nil {
		return x.Certificates
	}
	return nil
}

func (x *Update) GetTables() []*Table {
	if x != nil {
		return x.Tables
	}
	return nil
}

func (x *Update) GetRemovedSections() []string {
	if x != nil {
		return x.RemovedSections
	}
	return nil
}

func (x *Update) GetRemovedBackends() []string {
	if x != nil {
		return x.RemovedBackends
	}
	return nil
}

func (x *Update) GetRemovedMaps() []string {
	if x != nil {
		return x.RemovedMaps
	}
	return nil
}

func (x *Update) GetRemovedCertificates() []string {
	if x != nil {
		return x.RemovedCertificates
	}
	return nil
}

func (x *Update) GetRemovedTables() []string {
	if x != nil {
		return x.RemovedTables
	}
	return nil
}

// Line is a list of words; only the renderer quotes them.
type Line struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Words         []string               `protobuf:"bytes,1,rep,name=words,proto3" json:"words,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Line) Reset() {
	*x = Line{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[12]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Line) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Line) ProtoMessage() {}

func (x *Line) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[12]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Line.ProtoReflect.Descriptor instead.
func (*Line) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{12}
}

func (x *Line) GetWords() []string {
	if x != nil {
		return x.Words
	}
	return nil
}

// Section is a part of the configuration without servers.
type Section struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// HAProxy's keyword: global, defaults, frontend, peers, resolvers.
	Type          string  `protobuf:"bytes,1,opt,name=type,proto3" json:"type,omitempty"`
	Name          string  `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`
	Lines         []*Line `protobuf:"bytes,3,rep,name=lines,proto3" json:"lines,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Section) Reset() {
	*x = Section{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[13]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Section) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Section) ProtoMessage() {}

func (x *Section) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[13]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Section.ProtoReflect.Descriptor instead.
func (*Section) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{13}
}

func (x *Section) GetType() string {
	if x != nil {
		return x.Type
	}
	return ""
}

func (x *Section) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Section) GetLines() []*Line {
	if x != nil {
		return x.Lines
	}
	return nil
}

// Backend is a backend without its servers.
type Backend struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Name          string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Defaults      string                 `protobuf:"bytes,2,opt,name=defaults,proto3" json:"defaults,omitempty"`
	Lines         []*Line                `protobuf:"bytes,3,rep,name=lines,proto3" json:"lines,omitempty"`
	ServerOptions []string               `protobuf:"bytes,4,rep,name=server_options,json=serverOptions,proto3" json:"server_options,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Backend) Reset() {
	*x = Backend{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[14]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Backend) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Backend) ProtoMessage() {}

func (x *Backend) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[14]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Backend.ProtoReflect.Descriptor instead.
func (*Backend) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{14}
}

func (x *Backend) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Backend) GetDefaults() string {
	if x != nil {
		return x.Defaults
	}
	return ""
}

func (x *Backend) GetLines() []*Line {
	if x != nil {
		return x.Lines
	}
	return nil
}

func (x *Backend) GetServerOptions() []string {
	if x != nil {
		return x.ServerOptions
	}
	return nil
}

// Map names a map and the entries that change. With SCOPE_BUCKETS and SCOPE_EVERYTHING an entry stands beside its map or alone.
type Map struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Name  string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	// The map itself is new (or in a replaced bucket): without it, the message only carries entries of a map that is there.
	Declared      bool        `protobuf:"varint,2,opt,name=declared,proto3" json:"declared,omitempty"`
	Entries       []*MapEntry `protobuf:"bytes,3,rep,name=entries,proto3" json:"entries,omitempty"`
	RemovedKeys   []string    `protobuf:"bytes,4,rep,name=removed_keys,json=removedKeys,proto3" json:"removed_keys,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Map) Reset() {
	*x = Map{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[15]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Map) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Map) ProtoMessage() {}

func (x *Map) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[15]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Map.ProtoReflect.Descriptor instead.
func (*Map) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{15}
}

func (x *Map) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Map) GetDeclared() bool {
	if x != nil {
		return x.Declared
	}
	return false
}

func (x *Map) GetEntries() []*MapEntry {
	if x != nil {
		return x.Entries
	}
	return nil
}

func (x *Map) GetRemovedKeys() []string {
	if x != nil {
		return x.RemovedKeys
	}
	return nil
}

// MapEntry is one entry.
type MapEntry struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Key           string                 `protobuf:"bytes,1,opt,name=key,proto3" json:"key,omitempty"`
	Value         string                 `protobuf:"bytes,2,opt,name=value,proto3" json:"value,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *MapEntry) Reset() {
	*x = MapEntry{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[16]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *MapEntry) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*MapEntry) ProtoMessage() {}

func (x *MapEntry) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[16]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use MapEntry.ProtoReflect.Descriptor instead.
func (*MapEntry) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{16}
}

func (x *MapEntry) GetKey() string {
	if x != nil {
		return x.Key
	}
	return ""
}

func (x *MapEntry) GetValue() string {
	if x != nil {
		return x.Value
	}
	return ""
}

// Certificate is a chain with its key. It travels over mutual TLS or loopback only.
type Certificate struct {
	state       protoimpl.MessageState `protogen:"open.v1"`
	Name        string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	ServerNames []string               `protobuf:"bytes,2,rep,name=server_names,json=serverNames,proto3" json:"server_names,omitempty"`
	// SHA-256 of pem.
	Digest        []byte `protobuf:"bytes,3,opt,name=digest,proto3" json:"digest,omitempty"`
	Pem           []byte `protobuf:"bytes,4,opt,name=pem,proto3" json:"pem,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Certificate) Reset() {
	*x = Certificate{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[17]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Certificate) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Certificate) ProtoMessage() {}

func (x *Certificate) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[17]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Certificate.ProtoReflect.Descriptor instead.
func (*Certificate) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{17}
}

func (x *Certificate) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Certificate) GetServerNames() []string {
	if x != nil {
		return x.ServerNames
	}
	return nil
}

func (x *Certificate) GetDigest() []byte {
	if x != nil {
		return x.Digest
	}
	return nil
}

func (x *Certificate) GetPem() []byte {
	if x != nil {
		return x.Pem
	}
	return nil
}

// Table is the change of one slot table: set its length (new slots are free), then the slots.
type Table struct {
	state   protoimpl.MessageState `protogen:"open.v1"`
	Backend string                 `protobuf:"bytes,1,opt,name=backend,proto3" json:"backend,omitempty"`
	Length  uint32                 `protobuf:"varint,2,opt,name=length,proto3" json:"length,omitempty"`
	// Start from an empty table.
	Reset_ bool `protobuf:"varint,3,opt,name=reset,proto3" json:"reset,omitempty"`
	// The generation that last changed the table.
	Version       *Version `protobuf:"bytes,4,opt,name=version,proto3" json:"version,omitempty"`
	Slots         []*Slot  `protobuf:"bytes,5,rep,name=slots,proto3" json:"slots,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Table) Reset() {
	*x = Table{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[18]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Table) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Table) ProtoMessage() {}

func (x *Table) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[18]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Table.ProtoReflect.Descriptor instead.
func (*Table) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{18}
}

func (x *Table) GetBackend() string {
	if x != nil {
		return x.Backend
	}
	return ""
}

func (x *Table) GetLength() uint32 {
	if x != nil {
		return x.Length
	}
	return 0
}

func (x *Table) GetReset_() bool {
	if x != nil {
		return x.Reset_
	}
	return false
}

func (x *Table) GetVersion() *Version {
	if x != nil {
		return x.Version
	}
	return nil
}

func (x *Table) GetSlots() []*Slot {
	if x != nil {
		return x.Slots
	}
	return nil
}

// Slot is one server line.
type Slot struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Counts from 1, as the server's name s1 does.
	Slot  uint32    `protobuf:"varint,1,opt,name=slot,proto3" json:"slot,omitempty"`
	State SlotState `protobuf:"varint,2,opt,name=state,proto3,enum=berth.fleet.v1.SlotState" json:"state,omitempty"`
	// 4 or 16 bytes; empty in a free slot.
	Address  []byte `protobuf:"bytes,3,opt,name=address,proto3" json:"address,omitempty"`
	Port     uint32 `protobuf:"varint,4,opt,name=port,proto3" json:"port,omitempty"`
	Weight   uint32 `protobuf:"varint,5,opt,name=weight,proto3" json:"weight,omitempty"`
	Endpoint string `protobuf:"bytes,6,opt,name=endpoint,proto3" json:"endpoint,omitempty"`
	// Number of the generation that freed the slot or let it drain.
	Since         uint64 `protobuf:"varint,7,opt,name=since,proto3" json:"since,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Slot) Reset() {
	*x = Slot{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[19]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Slot) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Slot) ProtoMessage() {}

func (x *Slot) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[19]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Slot.ProtoReflect.Descriptor instead.
func (*Slot) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{19}
}

func (x *Slot) GetSlot() uint32 {
	if x != nil {
		return x.Slot
	}
	return 0
}

func (x *Slot) GetState() SlotState {
	if x != nil {
		return x.State
	}
	return SlotState_SLOT_STATE_UNSPECIFIED
}

func (x *Slot) GetAddress() []byte {
	if x != nil {
		return x.Address
	}
	return nil
}

func (x *Slot) GetPort() uint32 {
	if x != nil {
		return x.Port
	}
	return 0
}

func (x *Slot) GetWeight() uint32 {
	if x != nil {
		return x.Weight
	}
	return 0
}

func (x *Slot) GetEndpoint() string {
	if x != nil {
		return x.Endpoint
	}
	return ""
}

func (x *Slot) GetSince() uint64 {
	if x != nil {
		return x.Since
	}
	return 0
}

// Received answers the last frame of an update, and ends its flight.
type Received struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Id    uint64                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	// OK: the node holds the update and will tell by Applied, Rejected or Failed what became of it.
	Code    Code   `protobuf:"varint,2,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message string `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	// What the node holds now.
	Held *Marks `protobuf:"bytes,4,opt,name=held,proto3" json:"held,omitempty"`
	// The highest epoch that the node has seen.
	Epoch         uint64 `protobuf:"varint,5,opt,name=epoch,proto3" json:"epoch,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Received) Reset() {
	*x = Received{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[20]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Received) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Received) ProtoMessage() {}

func (x *Received) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[20]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Received.ProtoReflect.Descriptor instead.
func (*Received) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{20}
}

func (x *Received) GetId() uint64 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Received) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Received) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

func (x *Received) GetHeld() *Marks {
	if x != nil {
		return x.Held
	}
	return nil
}

func (x *Received) GetEpoch() uint64 {
	if x != nil {
		return x.Epoch
	}
	return 0
}

// Applied says what the worker has been read to have.
type Applied struct {
	state   protoimpl.MessageState `protogen:"open.v1"`
	Applied *Marks                 `protobuf:"bytes,1,opt,name=applied,proto3" json:"applied,omitempty"`
	Worker  *Worker                `protobuf:"bytes,2,opt,name=worker,proto3" json:"worker,omitempty"`
	By      By                     `protobuf:"varint,3,opt,name=by,proto3,enum=berth.fleet.v1.By" json:"by,omitempty"`
	// Why, when it was by a reload.
	Reason ReloadReason `protobuf:"varint,4,opt,name=reason,proto3,enum=berth.fleet.v1.ReloadReason" json:"reason,omitempty"`
	// From the update's last frame to the read-back.
	Took *durationpb.Duration `protobuf:"bytes,5,opt,name=took,proto3" json:"took,omitempty"`
	// Of the oldest change that is now applied; echoed from the Update.
	Seen *timestamppb.Timestamp `protobuf:"bytes,6,opt,name=seen,proto3" json:"seen,omitempty"`
	// The slots that HAProxy or the node itself refused: vacated, and free in the worker.
	Excepted      []*ExceptedSlot `protobuf:"bytes,7,rep,name=excepted,proto3" json:"excepted,omitempty"`
	Haproxy       *HAProxy        `protobuf:"bytes,8,opt,name=haproxy,proto3" json:"haproxy,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Applied) Reset() {
	*x = Applied{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[21]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Applied) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Applied) ProtoMessage() {}

func (x *Applied) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[21]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Applied.ProtoReflect.Descriptor instead.
func (*Applied) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{21}
}

func (x *Applied) GetApplied() *Marks {
	if x != nil {
		return x.Applied
	}
	return nil
}

func (x *Applied) GetWorker() *Worker {
	if x != nil {
		return x.Worker
	}
	return nil
}

func (x *Applied) GetBy() By {
	if x != nil {
		return x.By
	}
	return By_BY_UNSPECIFIED
}

func (x *Applied) GetReason() ReloadReason {
	if x != nil {
		return x.Reason
	}
	return ReloadReason_RELOAD_REASON_UNSPECIFIED
}

func (x *Applied) GetTook() *durationpb.Duration {
	if x != nil {
		return x.Took
	}
	return nil
}

func (x *Applied) GetSeen() *timestamppb.Timestamp {
	if x != nil {
		return x.Seen
	}
	return nil
}

func (x *Applied) GetExcepted() []*ExceptedSlot {
	if x != nil {
		return x.Excepted
	}
	return nil
}

func (x *Applied) GetHaproxy() *HAProxy {
	if x != nil {
		return x.Haproxy
	}
	return nil
}

// ExceptedSlot is a slot that could not be applied. The rest of the generation counts as applied.
type ExceptedSlot struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Backend       string                 `protobuf:"bytes,1,opt,name=backend,proto3" json:"backend,omitempty"`
	Slot          uint32                 `protobuf:"varint,2,opt,name=slot,proto3" json:"slot,omitempty"`
	Code          Code                   `protobuf:"varint,3,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message       string                 `protobuf:"bytes,4,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ExceptedSlot) Reset() {
	*x = ExceptedSlot{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[22]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ExceptedSlot) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ExceptedSlot) ProtoMessage() {}

func (x *ExceptedSlot) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[22]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ExceptedSlot.ProtoReflect.Descriptor instead.
func (*ExceptedSlot) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{22}
}

func (x *ExceptedSlot) GetBackend() string {
	if x != nil {
		return x.Backend
	}
	return ""
}

func (x *ExceptedSlot) GetSlot() uint32 {
	if x != nil {
		return x.Slot
	}
	return 0
}

func (x *ExceptedSlot) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *ExceptedSlot) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// Rejected says that HAProxy refused a revision; the node keeps the one that it has.
type Rejected struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Revision      *Mark                  `protobuf:"bytes,1,opt,name=revision,proto3" json:"revision,omitempty"`
	Code          Code                   `protobuf:"varint,2,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message       string                 `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Rejected) Reset() {
	*x = Rejected{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[23]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Rejected) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Rejected) ProtoMessage() {}

func (x *Rejected) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[23]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Rejected.ProtoReflect.Descriptor instead.
func (*Rejected) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{23}
}

func (x *Rejected) GetRevision() *Mark {
	if x != nil {
		return x.Revision
	}
	return nil
}

func (x *Rejected) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Rejected) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// Failed says that something around the node stood in the way; it tries again by itself.
type Failed struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Wanted        *Marks                 `protobuf:"bytes,1,opt,name=wanted,proto3" json:"wanted,omitempty"`
	Code          Code                   `protobuf:"varint,2,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message       string                 `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	RetryIn       *durationpb.Duration   `protobuf:"bytes,4,opt,name=retry_in,json=retryIn,proto3" json:"retry_in,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Failed) Reset() {
	*x = Failed{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[24]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Failed) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Failed) ProtoMessage() {}

func (x *Failed) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[24]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Failed.ProtoReflect.Descriptor instead.
func (*Failed) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{24}
}

func (x *Failed) GetWanted() *Marks {
	if x != nil {
		return x.Wanted
	}
	return nil
}

func (x *Failed) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Failed) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

func (x *Failed) GetRetryIn() *durationpb.Duration {
	if x != nil {
		return x.RetryIn
	}
	return nil
}

// Observed tells what the node has seen by itself. Counters count since the agent's start.
type Observed struct {
	state          protoimpl.MessageState `protogen:"open.v1"`
	Worker         *Worker                `protobuf:"bytes,1,opt,name=worker,proto3" json:"worker,omitempty"`
	OldWorkers     uint32                 `protobuf:"varint,2,opt,name=old_workers,json=oldWorkers,proto3" json:"old_workers,omitempty"`
	Reloads        uint64                 `protobuf:"varint,3,opt,name=reloads,proto3" json:"reloads,omitempty"`
	Drifts         uint64                 `protobuf:"varint,4,opt,name=drifts,proto3" json:"drifts,omitempty"`
	WorkerRestarts uint64                 `protobuf:"varint,5,opt,name=worker_restarts,json=workerRestarts,proto3" json:"worker_restarts,omitempty"`
	Dirty          bool                   `protobuf:"varint,6,opt,name=dirty,proto3" json:"dirty,omitempty"`
	unknownFields  protoimpl.UnknownFields
	sizeCache      protoimpl.SizeCache
}

func (x *Observed) Reset() {
	*x = Observed{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[25]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Observed) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Observed) ProtoMessage() {}

func (x *Observed) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[25]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Observed.ProtoReflect.Descriptor instead.
func (*Observed) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{25}
}

func (x *Observed) GetWorker() *Worker {
	if x != nil {
		return x.Worker
	}
	return nil
}

func (x *Observed) GetOldWorkers() uint32 {
	if x != nil {
		return x.OldWorkers
	}
	return 0
}

func (x *Observed) GetReloads() uint64 {
	if x != nil {
		return x.Reloads
	}
	return 0
}

func (x *Observed) GetDrifts() uint64 {
	if x != nil {
		return x.Drifts
	}
	return 0
}

func (x *Observed) GetWorkerRestarts() uint64 {
	if x != nil {
		return x.WorkerRestarts
	}
	return 0
}

func (x *Observed) GetDirty() bool {
	if x != nil {
		return x.Dirty
	}
	return false
}

// AskBuckets asks for the digests of what the node holds, by bucket.
type AskBuckets struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Revision      bool                   `protobuf:"varint,1,opt,name=revision,proto3" json:"revision,omitempty"`
	Generation    bool                   `protobuf:"varint,2,opt,name=generation,proto3" json:"generation,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AskBuckets) Reset() {
	*x = AskBuckets{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[26]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AskBuckets) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AskBuckets) ProtoMessage() {}

func (x *AskBuckets) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[26]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AskBuckets.ProtoReflect.Descriptor instead.
func (*AskBuckets) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{26}
}

func (x *AskBuckets) GetRevision() bool {
	if x != nil {
		return x.Revision
	}
	return false
}

func (x *AskBuckets) GetGeneration() bool {
	if x != nil {
		return x.Generation
	}
	return false
}

// Buckets answers AskBuckets: 256 digests of 32 bytes for each clock that was asked for, one after the other.
type Buckets struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Held          *Marks                 `protobuf:"bytes,1,opt,name=held,proto3" json:"held,omitempty"`
	Revision      []byte                 `protobuf:"bytes,2,opt,name=revision,proto3" json:"revision,omitempty"`
	Generation    []byte                 `protobuf:"bytes,3,opt,name=generation,proto3" json:"generation,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Buckets) Reset() {
	*x = Buckets{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[27]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Buckets) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Buckets) ProtoMessage() {}

func (x *Buckets) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[27]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Buckets.ProtoReflect.Descriptor instead.
func (*Buckets) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{27}
}

func (x *Buckets) GetHeld() *Marks {
	if x != nil {
		return x.Held
	}
	return nil
}

func (x *Buckets) GetRevision() []byte {
	if x != nil {
		return x.Revision
	}
	return nil
}

func (x *Buckets) GetGeneration() []byte {
	if x != nil {
		return x.Generation
	}
	return nil
}

// AskPositions asks where the endpoints sit in what the node holds.
type AskPositions struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AskPositions) Reset() {
	*x = AskPositions{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[28]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AskPositions) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AskPositions) ProtoMessage() {}

func (x *AskPositions) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[28]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AskPositions.ProtoReflect.Descriptor instead.
func (*AskPositions) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{28}
}

// Positions is one frame of the answer to AskPositions.
type Positions struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Counts the frames from 0.
	Frame uint32 `protobuf:"varint,1,opt,name=frame,proto3" json:"frame,omitempty"`
	Last  bool   `protobuf:"varint,2,opt,name=last,proto3" json:"last,omitempty"`
	// In frame 0 only: what the positions are of.
	Generation *Mark `protobuf:"bytes,3,opt,name=generation,proto3" json:"generation,omitempty"`
	// A table that does not fit a frame goes on in the next one, with the same version, length and digest.
	Tables        []*TablePositions `protobuf:"bytes,4,rep,name=tables,proto3" json:"tables,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Positions) Reset() {
	*x = Positions{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[29]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Positions) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Positions) ProtoMessage() {}

func (x *Positions) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[29]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Positions.ProtoReflect.Descriptor instead.
func (*Positions) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{29}
}

func (x *Positions) GetFrame() uint32 {
	if x != nil {
		return x.Frame
	}
	return 0
}

func (x *Positions) GetLast() bool {
	if x != nil {
		return x.Last
	}
	return false
}

func (x *Positions) GetGeneration() *Mark {
	if x != nil {
		return x.Generation
	}
	return nil
}

func (x *Positions) GetTables() []*TablePositions {
	if x != nil {
		return x.Tables
	}
	return nil
}

// TablePositions is what is told of one slot table.
type TablePositions struct {
	state   protoimpl.MessageState `protogen:"open.v1"`
	Backend string                 `protobuf:"bytes,1,opt,name=backend,proto3" json:"backend,omitempty"`
	// The generation that last changed the table.
	Version *Version `protobuf:"bytes,2,opt,name=version,proto3" json:"version,omitempty"`
	Length  uint32   `protobuf:"varint,3,opt,name=length,proto3" json:"length,omitempty"`
	// What the table adds to the digest of its generation: 32 bytes.
	Digest []byte `protobuf:"bytes,4,opt,name=digest,proto3" json:"digest,omitempty"`
	// Every slot but those that have never been taken.
	Slots         []*SlotPosition `protobuf:"bytes,5,rep,name=slots,proto3" json:"slots,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *TablePositions) Reset() {
	*x = TablePositions{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[30]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *TablePositions) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*TablePositions) ProtoMessage() {}

func (x *TablePositions) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[30]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use TablePositions.ProtoReflect.Descriptor instead.
func (*TablePositions) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{30}
}

func (x *TablePositions) GetBackend() string {
	if x != nil {
		return x.Backend
	}
	return ""
}

func (x *TablePositions) GetVersion() *Version {
	if x != nil {
		return x.Version
	}
	return nil
}

func (x *TablePositions) GetLength() uint32 {
	if x != nil {
		return x.Length
	}
	return 0
}

func (x *TablePositions) GetDigest() []byte {
	if x != nil {
		return x.Digest
	}
	return nil
}

func (x *TablePositions) GetSlots() []*SlotPosition {
	if x != nil {
		return x.Slots
	}
	return nil
}

// SlotPosition says who is in a slot. A slot without an address is free.
type SlotPosition struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Counts from 1, as the server's name s1 does.
	Slot     uint32 `protobuf:"varint,1,opt,name=slot,proto3" json:"slot,omitempty"`
	Endpoint string `protobuf:"bytes,2,opt,name=endpoint,proto3" json:"endpoint,omitempty"`
	// 4 or 16 bytes; empty in a free slot.
	Address []byte `protobuf:"bytes,3,opt,name=address,proto3" json:"address,omitempty"`
	Port    uint32 `protobuf:"varint,4,opt,name=port,proto3" json:"port,omitempty"`
	// Number of the generation that freed the slot or let it drain; zero while it is ready.
	Since         uint64 `protobuf:"varint,5,opt,name=since,proto3" json:"since,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SlotPosition) Reset() {
	*x = SlotPosition{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[31]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SlotPosition) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SlotPosition) ProtoMessage() {}

func (x *SlotPosition) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[31]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SlotPosition.ProtoReflect.Descriptor instead.
func (*SlotPosition) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{31}
}

func (x *SlotPosition) GetSlot() uint32 {
	if x != nil {
		return x.Slot
	}
	return 0
}

func (x *SlotPosition) GetEndpoint() string {
	if x != nil {
		return x.Endpoint
	}
	return ""
}

func (x *SlotPosition) GetAddress() []byte {
	if x != nil {
		return x.Address
	}
	return nil
}

func (x *SlotPosition) GetPort() uint32 {
	if x != nil {
		return x.Port
	}
	return 0
}

func (x *SlotPosition) GetSince() uint64 {
	if x != nil {
		return x.Since
	}
	return 0
}

// Inspect asks for the worker's own answer.
type Inspect struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Id    uint64                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	// Empty: all backends.
	Backends      []string `protobuf:"bytes,2,rep,name=backends,proto3" json:"backends,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Inspect) Reset() {
	*x = Inspect{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[32]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Inspect) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Inspect) ProtoMessage() {}

func (x *Inspect) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[32]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Inspect.ProtoReflect.Descriptor instead.
func (*Inspect) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{32}
}

func (x *Inspect) GetId() uint64 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Inspect) GetBackends() []string {
	if x != nil {
		return x.Backends
	}
	return nil
}

// Inspected is one frame of the worker's servers, as read from its runtime socket just now.
type Inspected struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Id            uint64                 `protobuf:"varint,1,opt,name=id,proto3" json:"id,omitempty"`
	Last          bool                   `protobuf:"varint,2,opt,name=last,proto3" json:"last,omitempty"`
	Code          Code                   `protobuf:"varint,3,opt,name=code,proto3,enum=berth.fleet.v1.Code" json:"code,omitempty"`
	Message       string                 `protobuf:"bytes,4,opt,name=message,proto3" json:"message,omitempty"`
	Backends      []*InspectedBackend    `protobuf:"bytes,5,rep,name=backends,proto3" json:"backends,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Inspected) Reset() {
	*x = Inspected{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[33]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Inspected) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Inspected) ProtoMessage() {}

func (x *Inspected) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[33]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Inspected.ProtoReflect.Descriptor instead.
func (*Inspected) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{33}
}

func (x *Inspected) GetId() uint64 {
	if x != nil {
		return x.Id
	}
	return 0
}

func (x *Inspected) GetLast() bool {
	if x != nil {
		return x.Last
	}
	return false
}

func (x *Inspected) GetCode() Code {
	if x != nil {
		return x.Code
	}
	return Code_CODE_UNSPECIFIED
}

func (x *Inspected) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

func (x *Inspected) GetBackends() []*InspectedBackend {
	if x != nil {
		return x.Backends
	}
	return nil
}

// InspectedBackend is one backend as the worker has it.
type InspectedBackend struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Backend       string                 `protobuf:"bytes,1,opt,name=backend,proto3" json:"backend,omitempty"`
	Servers       []*InspectedServer     `protobuf:"bytes,2,rep,name=servers,proto3" json:"servers,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *InspectedBackend) Reset() {
	*x = InspectedBackend{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[34]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *InspectedBackend) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*InspectedBackend) ProtoMessage() {}

func (x *InspectedBackend) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[34]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use InspectedBackend.ProtoReflect.Descriptor instead.
func (*InspectedBackend) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{34}
}

func (x *InspectedBackend) GetBackend() string {
	if x != nil {
		return x.Backend
	}
	return ""
}

func (x *InspectedBackend) GetServers() []*InspectedServer {
	if x != nil {
		return x.Servers
	}
	return nil
}

// InspectedServer is one server as the worker has it.
type InspectedServer struct {
	state       protoimpl.MessageState `protogen:"open.v1"`
	Name        string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Address     string                 `protobuf:"bytes,2,opt,name=address,proto3" json:"address,omitempty"`
	Port        uint32                 `protobuf:"varint,3,opt,name=port,proto3" json:"port,omitempty"`
	Weight      uint32                 `protobuf:"varint,4,opt,name=weight,proto3" json:"weight,omitempty"`
	Maintenance bool                   `protobuf:"varint,5,opt,name=maintenance,proto3" json:"maintenance,omitempty"`
	Drain       bool                   `protobuf:"varint,6,opt,name=drain,proto3" json:"drain,omitempty"`
	// Up as far as health checks know; true without checks.
	Up            bool `protobuf:"varint,7,opt,name=up,proto3" json:"up,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *InspectedServer) Reset() {
	*x = InspectedServer{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[35]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *InspectedServer) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*InspectedServer) ProtoMessage() {}

func (x *InspectedServer) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[35]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use InspectedServer.ProtoReflect.Descriptor instead.
func (*InspectedServer) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{35}
}

func (x *InspectedServer) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *InspectedServer) GetAddress() string {
	if x != nil {
		return x.Address
	}
	return ""
}

func (x *InspectedServer) GetPort() uint32 {
	if x != nil {
		return x.Port
	}
	return 0
}

func (x *InspectedServer) GetWeight() uint32 {
	if x != nil {
		return x.Weight
	}
	return 0
}

func (x *InspectedServer) GetMaintenance() bool {
	if x != nil {
		return x.Maintenance
	}
	return false
}

func (x *InspectedServer) GetDrain() bool {
	if x != nil {
		return x.Drain
	}
	return false
}

func (x *InspectedServer) GetUp() bool {
	if x != nil {
		return x.Up
	}
	return false
}

// Heartbeat is sent when nothing else was for 5 s.
type Heartbeat struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// From the plane: the newest versions of the fleet. From the node: what it has applied.
	Newest        *Marks `protobuf:"bytes,1,opt,name=newest,proto3" json:"newest,omitempty"`
	Epoch         uint64 `protobuf:"varint,2,opt,name=epoch,proto3" json:"epoch,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Heartbeat) Reset() {
	*x = Heartbeat{}
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[36]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Heartbeat) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Heartbeat) ProtoMessage() {}

func (x *Heartbeat) ProtoReflect() protoreflect.Message {
	mi := &file_berth_fleet_v1_fleet_proto_msgTypes[36]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Heartbeat.ProtoReflect.Descriptor instead.
func (*Heartbeat) Descriptor() ([]byte, []int) {
	return file_berth_fleet_v1_fleet_proto_rawDescGZIP(), []int{36}
}

func (x *Heartbeat) GetNewest() *Marks {
	if x != nil {
		return x.Newest
	}
	return nil
}

func (x *Heartbeat) GetEpoch() uint64 {
	if x != nil {
		return x.Epoch
	}
	return 0
}

var File_berth_fleet_v1_fleet_proto protoreflect.FileDescriptor

const file_berth_fleet_v1_fleet_proto_rawDesc = "" +
	"\n" +
	"\x1aberth/fleet/v1/fleet.proto\x12\x0eberth.fleet.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\"\xcd\x04\n" +
	"\vSyncRequest\x12-\n" +
	"\x05hello\x18\x01 \x01(\v2\x15.berth.fleet.v1.HelloH\x00R\x05hello\x126\n" +
	"\breceived\x18\x02 \x01(\v2\x18.berth.fleet.v1.ReceivedH\x00R\breceived\x123\n" +
	"\aapplied\x18\x03 \x01(\v2\x17.berth.fleet.v1.AppliedH\x00R\aapplied\x126\n" +
	"\brejected\x18\x04 \x01(\v2\x18.berth.fleet.v1.RejectedH\x00R\brejected\x120\n" +
	"\x06failed\x18\x05 \x01(\v2\x16.berth.fleet.v1.FailedH\x00R\x06failed\x126\n" +
	"\bobserved\x18\x06 \x01(\v2\x18.berth.fleet.v1.ObservedH\x00R\bobserved\x123\n" +
	"\abuckets\x18\a \x01(\v2\x17.berth.fleet.v1.BucketsH\x00R\abuckets\x129\n" +
	"\tinspected\x18\b \x01(\v2\x19.berth.fleet.v1.InspectedH\x00R\tinspected\x129\n" +
	"\theartbeat\x18\t \x01(\v2\x19.berth.fleet.v1.HeartbeatH\x00R\theartbeat\x129\n" +
	"\tpositions\x18\n" +
	" \x01(\v2\x19.berth.fleet.v1.PositionsH\x00R\tpositionsB\t\n" +
	"\amessageJ\x04\b\v\x10\fR\tvalidated\"\xb0\x03\n" +
	"\fSyncResponse\x123\n" +
	"\awelcome\x18\x01 \x01(\v2\x17.berth.fleet.v1.WelcomeH\x00R\awelcome\x12*\n" +
	"\x04wait\x18\x02 \x01(\v2\x14.berth.fleet.v1.WaitH\x00R\x04wait\x120\n" +
	"\x06update\x18\x03 \x01(\v2\x16.berth.fleet.v1.UpdateH\x00R\x06update\x12=\n" +
	"\vask_buckets\x18\x04 \x01(\v2\x1a.berth.fleet.v1.AskBucketsH\x00R\n" +
	"askBuckets\x123\n" +
	"\ainspect\x18\x05 \x01(\v2\x17.berth.fleet.v1.InspectH\x00R\ainspect\x129\n" +
	"\theartbeat\x18\x06 \x01(\v2\x19.berth.fleet.v1.HeartbeatH\x00R\theartbeat\x12C\n" +
	"\rask_positions\x18\a \x01(\v2\x1c.berth.fleet.v1.AskPositionsH\x00R\faskPositionsB\t\n" +
	"\amessageJ\x04\b\b\x10\tR\bvalidate\"7\n" +
	"\aVersion\x12\x14\n" +
	"\x05epoch\x18\x01 \x01(\x04R\x05epoch\x12\x16\n" +
	"\x06number\x18\x02 \x01(\x04R\x06number\"Q\n" +
	"\x04Mark\x121\n" +
	"\aversion\x18\x01 \x01(\v2\x17.berth.fleet.v1.VersionR\aversion\x12\x16\n" +
	"\x06digest\x18\x02 \x01(\fR\x06digest\"o\n" +
	"\x05Marks\x120\n" +
	"\brevision\x18\x01 \x01(\v2\x14.berth.fleet.v1.MarkR\brevision\x124\n" +
	"\n" +
	"generation\x18\x02 \x01(\v2\x14.berth.fleet.v1.MarkR\n" +
	"generation\"\x98\x03\n" +
	"\x05Hello\x12\x14\n" +
	"\x05fleet\x18\x01 \x01(\tR\x05fleet\x12\x12\n" +
	"\x04node\x18\x02 \x01(\tR\x04node\x12\x17\n" +
	"\aboot_id\x18\x03 \x01(\tR\x06bootId\x12#\n" +
	"\ragent_version\x18\x04 \x01(\tR\fagentVersion\x121\n" +
	"\ahaproxy\x18\x05 \x01(\v2\x17.berth.fleet.v1.HAProxyR\ahaproxy\x12)\n" +
	"\x04held\x18\x06 \x01(\v2\x15.berth.fleet.v1.MarksR\x04held\x12/\n" +
	"\aapplied\x18\a \x01(\v2\x15.berth.fleet.v1.MarksR\aapplied\x12\x14\n" +
	"\x05dirty\x18\b \x01(\bR\x05dirty\x12\x14\n" +
	"\x05epoch\x18\t \x01(\x04R\x05epoch\x12<\n" +
	"\brejected\x18\n" +
	" \x03(\v2 .berth.fleet.v1.RejectedRevisionR\brejected\x12.\n" +
	"\x06worker\x18\v \x01(\v2\x16.berth.fleet.v1.WorkerR\x06worker\"c\n" +
	"\aHAProxy\x12\x18\n" +
	"\aversion\x18\x01 \x01(\tR\aversion\x12>\n" +
	"\fcapabilities\x18\x02 \x03(\x0e2\x1a.berth.fleet.v1.CapabilityR\fcapabilities\";\n" +
	"\x06Worker\x12\x10\n" +
	"\x03pid\x18\x01 \x01(\x03R\x03pid\x12\x1f\n" +
	"\vstart_ticks\x18\x02 \x01(\x04R\n" +
	"startTicks\"n\n" +
	"\x10RejectedRevision\x12\x16\n" +
	"\x06digest\x18\x01 \x01(\fR\x06digest\x12(\n" +
	"\x04code\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\"i\n" +
	"\aWelcome\x12\x14\n" +
	"\x05epoch\x18\x01 \x01(\x04R\x05epoch\x12.\n" +
	"\awaiting\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\awaiting\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\"\x86\x01\n" +
	"\x04Wait\x12:\n" +
	"\vretry_after\x18\x01 \x01(\v2\x19.google.protobuf.DurationR\n" +
	"retryAfter\x12(\n" +
	"\x04code\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\"\xb0\x06\n" +
	"\x06Update\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\x04R\x02id\x12\x14\n" +
	"\x05frame\x18\x02 \x01(\rR\x05frame\x12\x12\n" +
	"\x04last\x18\x03 \x01(\bR\x04last\x12)\n" +
	"\x04from\x18\x04 \x01(\v2\x15.berth.fleet.v1.MarksR\x04from\x12%\n" +
	"\x02to\x18\x05 \x01(\v2\x15.berth.fleet.v1.MarksR\x02to\x12+\n" +
	"\x05scope\x18\x06 \x01(\x0e2\x15.berth.fleet.v1.ScopeR\x05scope\x12)\n" +
	"\x10revision_buckets\x18\a \x03(\rR\x0frevisionBuckets\x12-\n" +
	"\x12generation_buckets\x18\b \x03(\rR\x11generationBuckets\x12.\n" +
	"\x04seen\x18\t \x01(\v2\x1a.google.protobuf.TimestampR\x04seen\x123\n" +
	"\bsections\x18\n" +
	" \x03(\v2\x17.berth.fleet.v1.SectionR\bsections\x123\n" +
	"\bbackends\x18\v \x03(\v2\x17.berth.fleet.v1.BackendR\bbackends\x12'\n" +
	"\x04maps\x18\f \x03(\v2\x13.berth.fleet.v1.MapR\x04maps\x12?\n" +
	"\fcertificates\x18\r \x03(\v2\x1b.berth.fleet.v1.CertificateR\fcertificates\x12-\n" +
	"\x06tables\x18\x0e \x03(\v2\x15.berth.fleet.v1.TableR\x06tables\x12)\n" +
	"\x10removed_sections\x18\x0f \x03(\tR\x0fremovedSections\x12)\n" +
	"\x10removed_backends\x18\x10 \x03(\tR\x0fremovedBackends\x12!\n" +
	"\fremoved_maps\x18\x11 \x03(\tR\vremovedMaps\x121\n" +
	"\x14removed_certificates\x18\x12 \x03(\tR\x13removedCertificates\x12%\n" +
	"\x0eremoved_tables\x18\x13 \x03(\tR\rremovedTablesJ\x04\b\x14\x10\x15R\acontrol\"\x1c\n" +
	"\x04Line\x12\x14\n" +
	"\x05words\x18\x01 \x03(\tR\x05words\"]\n" +
	"\aSection\x12\x12\n" +
	"\x04type\x18\x01 \x01(\tR\x04type\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\x12*\n" +
	"\x05lines\x18\x03 \x03(\v2\x14.berth.fleet.v1.LineR\x05lines\"\x8c\x01\n" +
	"\aBackend\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12\x1a\n" +
	"\bdefaults\x18\x02 \x01(\tR\bdefaults\x12*\n" +
	"\x05lines\x18\x03 \x03(\v2\x14.berth.fleet.v1.LineR\x05lines\x12%\n" +
	"\x0eserver_options\x18\x04 \x03(\tR\rserverOptions\"\x8c\x01\n" +
	"\x03Map\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12\x1a\n" +
	"\bdeclared\x18\x02 \x01(\bR\bdeclared\x122\n" +
	"\aentries\x18\x03 \x03(\v2\x18.berth.fleet.v1.MapEntryR\aentries\x12!\n" +
	"\fremoved_keys\x18\x04 \x03(\tR\vremovedKeys\"2\n" +
	"\bMapEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value\"n\n" +
	"\vCertificate\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12!\n" +
	"\fserver_names\x18\x02 \x03(\tR\vserverNames\x12\x16\n" +
	"\x06digest\x18\x03 \x01(\fR\x06digest\x12\x10\n" +
	"\x03pem\x18\x04 \x01(\fR\x03pem\"\xae\x01\n" +
	"\x05Table\x12\x18\n" +
	"\abackend\x18\x01 \x01(\tR\abackend\x12\x16\n" +
	"\x06length\x18\x02 \x01(\rR\x06length\x12\x14\n" +
	"\x05reset\x18\x03 \x01(\bR\x05reset\x121\n" +
	"\aversion\x18\x04 \x01(\v2\x17.berth.fleet.v1.VersionR\aversion\x12*\n" +
	"\x05slots\x18\x05 \x03(\v2\x14.berth.fleet.v1.SlotR\x05slots\"\xc3\x01\n" +
	"\x04Slot\x12\x12\n" +
	"\x04slot\x18\x01 \x01(\rR\x04slot\x12/\n" +
	"\x05state\x18\x02 \x01(\x0e2\x19.berth.fleet.v1.SlotStateR\x05state\x12\x18\n" +
	"\aaddress\x18\x03 \x01(\fR\aaddress\x12\x12\n" +
	"\x04port\x18\x04 \x01(\rR\x04port\x12\x16\n" +
	"\x06weight\x18\x05 \x01(\rR\x06weight\x12\x1a\n" +
	"\bendpoint\x18\x06 \x01(\tR\bendpoint\x12\x14\n" +
	"\x05since\x18\a \x01(\x04R\x05since\"\x9f\x01\n" +
	"\bReceived\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\x04R\x02id\x12(\n" +
	"\x04code\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\x12)\n" +
	"\x04held\x18\x04 \x01(\v2\x15.berth.fleet.v1.MarksR\x04held\x12\x14\n" +
	"\x05epoch\x18\x05 \x01(\x04R\x05epoch\"\x90\x03\n" +
	"\aApplied\x12/\n" +
	"\aapplied\x18\x01 \x01(\v2\x15.berth.fleet.v1.MarksR\aapplied\x12.\n" +
	"\x06worker\x18\x02 \x01(\v2\x16.berth.fleet.v1.WorkerR\x06worker\x12\"\n" +
	"\x02by\x18\x03 \x01(\x0e2\x12.berth.fleet.v1.ByR\x02by\x124\n" +
	"\x06reason\x18\x04 \x01(\x0e2\x1c.berth.fleet.v1.ReloadReasonR\x06reason\x12-\n" +
	"\x04took\x18\x05 \x01(\v2\x19.google.protobuf.DurationR\x04took\x12.\n" +
	"\x04seen\x18\x06 \x01(\v2\x1a.google.protobuf.TimestampR\x04seen\x128\n" +
	"\bexcepted\x18\a \x03(\v2\x1c.berth.fleet.v1.ExceptedSlotR\bexcepted\x121\n" +
	"\ahaproxy\x18\b \x01(\v2\x17.berth.fleet.v1.HAProxyR\ahaproxy\"\x80\x01\n" +
	"\fExceptedSlot\x12\x18\n" +
	"\abackend\x18\x01 \x01(\tR\abackend\x12\x12\n" +
	"\x04slot\x18\x02 \x01(\rR\x04slot\x12(\n" +
	"\x04code\x18\x03 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x04 \x01(\tR\amessage\"\x80\x01\n" +
	"\bRejected\x120\n" +
	"\brevision\x18\x01 \x01(\v2\x14.berth.fleet.v1.MarkR\brevision\x12(\n" +
	"\x04code\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\"\xb1\x01\n" +
	"\x06Failed\x12-\n" +
	"\x06wanted\x18\x01 \x01(\v2\x15.berth.fleet.v1.MarksR\x06wanted\x12(\n" +
	"\x04code\x18\x02 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\x124\n" +
	"\bretry_in\x18\x04 \x01(\v2\x19.google.protobuf.DurationR\aretryIn\"\xd8\x01\n" +
	"\bObserved\x12.\n" +
	"\x06worker\x18\x01 \x01(\v2\x16.berth.fleet.v1.WorkerR\x06worker\x12\x1f\n" +
	"\vold_workers\x18\x02 \x01(\rR\n" +
	"oldWorkers\x12\x18\n" +
	"\areloads\x18\x03 \x01(\x04R\areloads\x12\x16\n" +
	"\x06drifts\x18\x04 \x01(\x04R\x06drifts\x12'\n" +
	"\x0fworker_restarts\x18\x05 \x01(\x04R\x0eworkerRestarts\x12\x14\n" +
	"\x05dirty\x18\x06 \x01(\bR\x05dirtyJ\x04\b\a\x10\bJ\x04\b\b\x10\t\"H\n" +
	"\n" +
	"AskBuckets\x12\x1a\n" +
	"\brevision\x18\x01 \x01(\bR\brevision\x12\x1e\n" +
	"\n" +
	"generation\x18\x02 \x01(\bR\n" +
	"generation\"p\n" +
	"\aBuckets\x12)\n" +
	"\x04held\x18\x01 \x01(\v2\x15.berth.fleet.v1.MarksR\x04held\x12\x1a\n" +
	"\brevision\x18\x02 \x01(\fR\brevision\x12\x1e\n" +
	"\n" +
	"generation\x18\x03 \x01(\fR\n" +
	"generation\"\x0e\n" +
	"\fAskPositions\"\xa3\x01\n" +
	"\tPositions\x12\x14\n" +
	"\x05frame\x18\x01 \x01(\rR\x05frame\x12\x12\n" +
	"\x04last\x18\x02 \x01(\bR\x04last\x124\n" +
	"\n" +
	"generation\x18\x03 \x01(\v2\x14.berth.fleet.v1.MarkR\n" +
	"generation\x126\n" +
	"\x06tables\x18\x04 \x03(\v2\x1e.berth.fleet.v1.TablePositionsR\x06tables\"\xc1\x01\n" +
	"\x0eTablePositions\x12\x18\n" +
	"\abackend\x18\x01 \x01(\tR\abackend\x121\n" +
	"\aversion\x18\x02 \x01(\v2\x17.berth.fleet.v1.VersionR\aversion\x12\x16\n" +
	"\x06length\x18\x03 \x01(\rR\x06length\x12\x16\n" +
	"\x06digest\x18\x04 \x01(\fR\x06digest\x122\n" +
	"\x05slots\x18\x05 \x03(\v2\x1c.berth.fleet.v1.SlotPositionR\x05slots\"\x82\x01\n" +
	"\fSlotPosition\x12\x12\n" +
	"\x04slot\x18\x01 \x01(\rR\x04slot\x12\x1a\n" +
	"\bendpoint\x18\x02 \x01(\tR\bendpoint\x12\x18\n" +
	"\aaddress\x18\x03 \x01(\fR\aaddress\x12\x12\n" +
	"\x04port\x18\x04 \x01(\rR\x04port\x12\x14\n" +
	"\x05since\x18\x05 \x01(\x04R\x05since\"5\n" +
	"\aInspect\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\x04R\x02id\x12\x1a\n" +
	"\bbackends\x18\x02 \x03(\tR\bbackends\"\xb1\x01\n" +
	"\tInspected\x12\x0e\n" +
	"\x02id\x18\x01 \x01(\x04R\x02id\x12\x12\n" +
	"\x04last\x18\x02 \x01(\bR\x04last\x12(\n" +
	"\x04code\x18\x03 \x01(\x0e2\x14.berth.fleet.v1.CodeR\x04code\x12\x18\n" +
	"\amessage\x18\x04 \x01(\tR\amessage\x12<\n" +
	"\bbackends\x18\x05 \x03(\v2 .berth.fleet.v1.InspectedBackendR\bbackends\"g\n" +
	"\x10InspectedBackend\x12\x18\n" +
	"\abackend\x18\x01 \x01(\tR\abackend\x129\n" +
	"\aservers\x18\x02 \x03(\v2\x1f.berth.fleet.v1.InspectedServerR\aservers\"\xb3\x01\n" +
	"\x0fInspectedServer\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12\x18\n" +
	"\aaddress\x18\x02 \x01(\tR\aaddress\x12\x12\n" +
	"\x04port\x18\x03 \x01(\rR\x04port\x12\x16\n" +
	"\x06weight\x18\x04 \x01(\rR\x06weight\x12 \n" +
	"\vmaintenance\x18\x05 \x01(\bR\vmaintenance\x12\x14\n" +
	"\x05drain\x18\x06 \x01(\bR\x05drain\x12\x0e\n" +
	"\x02up\x18\a \x01(\bR\x02up\"P\n" +
	"\tHeartbeat\x12-\n" +
	"\x06newest\x18\x01 \x01(\v2\x15.berth.fleet.v1.MarksR\x06newest\x12\x14\n" +
	"\x05epoch\x18\x02 \x01(\x04R\x05epoch*\x91\x01\n" +
	"\n" +
	"Capability\x12\x1a\n" +
	"\x16CAPABILITY_UNSPECIFIED\x10\x00\x12\x19\n" +
	"\x15CAPABILITY_ADD_SERVER\x10\x01\x12\x1b\n" +
	"\x17CAPABILITY_MAP_VERSIONS\x10\x02\x12\x1a\n" +
	"\x16CAPABILITY_ADD_BACKEND\x10\x03\x12\x13\n" +
	"\x0fCAPABILITY_WAIT\x10\x04*Z\n" +
	"\x05Scope\x12\x15\n" +
	"\x11SCOPE_UNSPECIFIED\x10\x00\x12\x11\n" +
	"\rSCOPE_CHANGES\x10\x01\x12\x11\n" +
	"\rSCOPE_BUCKETS\x10\x02\x12\x14\n" +
	"\x10SCOPE_EVERYTHING\x10\x03*h\n" +
	"\tSlotState\x12\x1a\n" +
	"\x16SLOT_STATE_UNSPECIFIED\x10\x00\x12\x13\n" +
	"\x0fSLOT_STATE_FREE\x10\x01\x12\x14\n" +
	"\x10SLOT_STATE_READY\x10\x02\x12\x14\n" +
	"\x10SLOT_STATE_DRAIN\x10\x03*7\n" +
	"\x02By\x12\x12\n" +
	"\x0eBY_UNSPECIFIED\x10\x00\x12\x0e\n" +
	"\n" +
	"BY_RUNTIME\x10\x01\x12\r\n" +
	"\tBY_RELOAD\x10\x02*\xe5\x01\n" +
	"\fReloadReason\x12\x1d\n" +
	"\x19RELOAD_REASON_UNSPECIFIED\x10\x00\x12\x17\n" +
	"\x13RELOAD_REASON_START\x10\x01\x12\x19\n" +
	"\x15RELOAD_REASON_SECTION\x10\x02\x12\x19\n" +
	"\x15RELOAD_REASON_BACKEND\x10\x03\x12\x17\n" +
	"\x13RELOAD_REASON_SLOTS\x10\x04\x12\x1d\n" +
	"\x19RELOAD_REASON_CERTIFICATE\x10\x05\x12\x15\n" +
	"\x11RELOAD_REASON_MAP\x10\x06\x12\x18\n" +
	"\x14RELOAD_REASON_REPAIR\x10\a*\xa4\x03\n" +
	"\x04Code\x12\x14\n" +
	"\x10CODE_UNSPECIFIED\x10\x00\x12\v\n" +
	"\aCODE_OK\x10\x01\x12\x16\n" +
	"\x12CODE_BASE_MISMATCH\x10\x02\x12\x12\n" +
	"\x0eCODE_OLD_EPOCH\x10\x03\x12\x18\n" +
	"\x14CODE_DIGEST_MISMATCH\x10\x04\x12\x10\n" +
	"\fCODE_INVALID\x10\x05\x12\x17\n" +
	"\x13CODE_CONFIG_REFUSED\x10\x06\x12\r\n" +
	"\tCODE_DISK\x10\a\x12\r\n" +
	"\tCODE_BIND\x10\b\x12\x12\n" +
	"\x0eCODE_RESOURCES\x10\t\x12\x14\n" +
	"\x10CODE_UNREACHABLE\x10\n" +
	"\x12\x0e\n" +
	"\n" +
	"CODE_START\x10\v\x12\x15\n" +
	"\x11CODE_OWN_LISTENER\x10\f\x12\x15\n" +
	"\x11CODE_SLOT_REFUSED\x10\r\x12\x14\n" +
	"\x10CODE_NOT_VISIBLE\x10\x0e\x12\x16\n" +
	"\x12CODE_UNKNOWN_FLEET\x10\x0f\x12\x0f\n" +
	"\vCODE_FROZEN\x10\x10\x12\r\n" +
	"\tCODE_BUSY\x10\x11\x12\x11\n" +
	"\rCODE_INTERNAL\x10\x12\x12\x0e\n" +
	"\n" +
	"CODE_PACED\x10\x13\x12\x11\n" +
	"\rCODE_ADOPTING\x10\x142U\n" +
	"\fFleetService\x12E\n" +
	"\x04Sync\x12\x1b.berth.fleet.v1.SyncRequest\x1a\x1c.berth.fleet.v1.SyncResponse(\x010\x01B;Z9github.com/berth-proxy/berth/proto/berth/fleet/v1;fleetv1b\x06proto3"

var (
	file_berth_fleet_v1_fleet_proto_rawDescOnce sync.Once
	file_berth_fleet_v1_fleet_proto_rawDescData []byte
)

func file_berth_fleet_v1_fleet_proto_rawDescGZIP() []byte {
	file_berth_fleet_v1_fleet_proto_rawDescOnce.Do(func() {
		file_berth_fleet_v1_fleet_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_berth_fleet_v1_fleet_proto_rawDesc), len(file_berth_fleet_v1_fleet_proto_rawDesc)))
	})
	return file_berth_fleet_v1_fleet_proto_rawDescData
}

var file_berth_fleet_v1_fleet_proto_enumTypes = make([]protoimpl.EnumInfo, 6)
var file_berth_fleet_v1_fleet_proto_msgTypes = make([]protoimpl.MessageInfo, 37)
var file_berth_fleet_v1_fleet_proto_goTypes = []any{
	(Capability)(0),               // 0: berth.fleet.v1.Capability
	(Scope)(0),                    // 1: berth.fleet.v1.Scope
	(SlotState)(0),                // 2: berth.fleet.v1.SlotState
	(By)(0),                       // 3: berth.fleet.v1.By
	(ReloadReason)(0),             // 4: berth.fleet.v1.ReloadReason
	(Code)(0),                     // 5: berth.fleet.v1.Code
	(*SyncRequest)(nil),           // 6: berth.fleet.v1.SyncRequest
	(*SyncResponse)(nil),          // 7: berth.fleet.v1.SyncResponse
	(*Version)(nil),               // 8: berth.fleet.v1.Version
	(*Mark)(nil),                  // 9: berth.fleet.v1.Mark
	(*Marks)(nil),                 // 10: berth.fleet.v1.Marks
	(*Hello)(nil),                 // 11: berth.fleet.v1.Hello
	(*HAProxy)(nil),               // 12: berth.fleet.v1.HAProxy
	(*Worker)(nil),                // 13: berth.fleet.v1.Worker
	(*RejectedRevision)(nil),      // 14: berth.fleet.v1.RejectedRevision
	(*Welcome)(nil),               // 15: berth.fleet.v1.Welcome
	(*Wait)(nil),                  // 16: berth.fleet.v1.Wait
	(*Update)(nil),                // 17: berth.fleet.v1.Update
	(*Line)(nil),                  // 18: berth.fleet.v1.Line
	(*Section)(nil),               // 19: berth.fleet.v1.Section
	(*Backend)(nil),               // 20: berth.fleet.v1.Backend
	(*Map)(nil),                   // 21: berth.fleet.v1.Map
	(*MapEntry)(nil),              // 22: berth.fleet.v1.MapEntry
	(*Certificate)(nil),           // 23: berth.fleet.v1.Certificate
	(*Table)(nil),                 // 24: berth.fleet.v1.Table
	(*Slot)(nil),                  // 25: berth.fleet.v1.Slot
	(*Received)(nil),              // 26: berth.fleet.v1.Received
	(*Applied)(nil),               // 27: berth.fleet.v1.Applied
	(*ExceptedSlot)(nil),          // 28: berth.fleet.v1.ExceptedSlot
	(*Rejected)(nil),              // 29: berth.fleet.v1.Rejected
	(*Failed)(nil),                // 30: berth.fleet.v1.Failed
	(*Observed)(nil),              // 31: berth.fleet.v1.Observed
	(*AskBuckets)(nil),            // 32: berth.fleet.v1.AskBuckets
	(*Buckets)(nil),               // 33: berth.fleet.v1.Buckets
	(*AskPositions)(nil),          // 34: berth.fleet.v1.AskPositions
	(*Positions)(nil),             // 35: berth.fleet.v1.Positions
	(*TablePositions)(nil),        // 36: berth.fleet.v1.TablePositions
	(*SlotPosition)(nil),          // 37: berth.fleet.v1.SlotPosition
	(*Inspect)(nil),               // 38: berth.fleet.v1.Inspect
	(*Inspected)(nil),             // 39: berth.fleet.v1.Inspected
	(*InspectedBackend)(nil),      // 40: berth.fleet.v1.InspectedBackend
	(*InspectedServer)(nil),       // 41: berth.fleet.v1.InspectedServer
	(*Heartbeat)(nil),             // 42: berth.fleet.v1.Heartbeat
	(*durationpb.Duration)(nil),   // 43: google.protobuf.Duration
	(*timestamppb.Timestamp)(nil), // 44: google.protobuf.Timestamp
}
var file_berth_fleet_v1_fleet_proto_depIdxs = []int32{
	11, // 0: berth.fleet.v1.SyncRequest.hello:type_name -> berth.fleet.v1.Hello
	26, // 1: berth.fleet.v1.SyncRequest.received:type_name -> berth.fleet.v1.Received
	27, // 2: berth.fleet.v1.SyncRequest.applied:type_name -> berth.fleet.v1.Applied
	29, // 3: berth.fleet.v1.SyncRequest.rejected:type_name -> berth.fleet.v1.Rejected
	30, // 4: berth.fleet.v1.SyncRequest.failed:type_name -> berth.fleet.v1.Failed
	31, // 5: berth.fleet.v1.SyncRequest.observed:type_name -> berth.fleet.v1.Observed
	33, // 6: berth.fleet.v1.SyncRequest.buckets:type_name -> berth.fleet.v1.Buckets
	39, // 7: berth.fleet.v1.SyncRequest.inspected:type_name -> berth.fleet.v1.Inspected
	42, // 8: berth.fleet.v1.SyncRequest.heartbeat:type_name -> berth.fleet.v1.Heartbeat
	35, // 9: berth.fleet.v1.SyncRequest.positions:type_name -> berth.fleet.v1.Positions
	15, // 10: berth.fleet.v1.SyncResponse.welcome:type_name -> berth.fleet.v1.Welcome
	16, // 11: berth.fleet.v1.SyncResponse.wait:type_name -> berth.fleet.v1.Wait
	17, // 12: berth.fleet.v1.SyncResponse.update:type_name -> berth.fleet.v1.Update
	32, // 13: berth.fleet.v1.SyncResponse.ask_buckets:type_name -> berth.fleet.v1.AskBuckets
	38, // 14: berth.fleet.v1.SyncResponse.inspect:type_name -> berth.fleet.v1.Inspect
	42, // 15: berth.fleet.v1.SyncResponse.heartbeat:type_name -> berth.fleet.v1.Heartbeat
	34, // 16: berth.fleet.v1.SyncResponse.ask_positions:type_name -> berth.fleet.v1.AskPositions
	8,  // 17: berth.fleet.v1.Mark.version:type_name -> berth.fleet.v1.Version
	9,  // 18: berth.fleet.v1.Marks.revision:type_name -> berth.fleet.v1.Mark
	9,  // 19: berth.fleet.v1.Marks.generation:type_name -> berth.fleet.v1.Mark
	12, // 20: berth.fleet.v1.Hello.haproxy:type_name -> berth.fleet.v1.HAProxy
	10, // 21: berth.fleet.v1.Hello.held:type_name -> berth.fleet.v1.Marks
	10, // 22: berth.fleet.v1.Hello.applied:type_name -> berth.fleet.v1.Marks
	14, // 23: berth.fleet.v1.Hello.rejected:type_name -> berth.fleet.v1.RejectedRevision
	13, // 24: berth.fleet.v1.Hello.worker:type_name -> berth.fleet.v1.Worker
	0,  // 25: berth.fleet.v1.HAProxy.capabilities:type_name -> berth.fleet.v1.Capability
	5,  // 26: berth.fleet.v1.RejectedRevision.code:type_name -> berth.fleet.v1.Code
	5,  // 27: berth.fleet.v1.Welcome.waiting:type_name -> berth.fleet.v1.Code
	43, // 28: berth.fleet.v1.Wait.retry_after:type_name -> google.protobuf.Duration
	5,  // 29: berth.fleet.v1.Wait.code:type_name -> berth.fleet.v1.Code
	10, // 30: berth.fleet.v1.Update.from:type_name -> berth.fleet.v1.Marks
	10, // 31: berth.fleet.v1.Update.to:type_name -> berth.fleet.v1.Marks
	1,  // 32: berth.fleet.v1.Update.scope:type_name -> berth.fleet.v1.Scope
	44, // 33: berth.fleet.v1.Update.seen:type_name -> google.protobuf.Timestamp
	19, // 34: berth.fleet.v1.Update.sections:type_name -> berth.fleet.v1.Section
	20, // 35: berth.fleet.v1.Update.backends:type_name -> berth.fleet.v1.Backend
	21, // 36: berth.fleet.v1.Update.maps:type_name -> berth.fleet.v1.Map
	23, // 37: berth.fleet.v1.Update.certificates:type_name -> berth.fleet.v1.Certificate
	24, // 38: berth.fleet.v1.Update.tables:type_name -> berth.fleet.v1.Table
	18, // 39: berth.fleet.v1.Section.lines:type_name -> berth.fleet.v1.Line
	18, // 40: berth.fleet.v1.Backend.lines:type_name -> berth.fleet.v1.Line
	22, // 41: berth.fleet.v1.Map.entries:type_name -> berth.fleet.v1.MapEntry
	8,  // 42: berth.fleet.v1.Table.version:type_name -> berth.fleet.v1.Version
	25, // 43: berth.fleet.v1.Table.slots:type_name -> berth.fleet.v1.Slot
	2,  // 44: berth.fleet.v1.Slot.state:type_name -> berth.fleet.v1.SlotState
	5,  // 45: berth.fleet.v1.Received.code:type_name -> berth.fleet.v1.Code
	10, // 46: berth.fleet.v1.Received.held:type_name -> berth.fleet.v1.Marks
	10, // 47: berth.fleet.v1.Applied.applied:type_name -> berth.fleet.v1.Marks
	13, // 48: berth.fleet.v1.Applied.worker:type_name -> berth.fleet.v1.Worker
	3,  // 49: berth.fleet.v1.Applied.by:type_name -> berth.fleet.v1.By
	4,  // 50: berth.fleet.v1.Applied.reason:type_name -> berth.fleet.v1.ReloadReason
	43, // 51: berth.fleet.v1.Applied.took:type_name -> google.protobuf.Duration
	44, // 52: berth.fleet.v1.Applied.seen:type_name -> google.protobuf.Timestamp
	28, // 53: berth.fleet.v1.Applied.excepted:type_name -> berth.fleet.v1.ExceptedSlot
	12, // 54: berth.fleet.v1.Applied.haproxy:type_name -> berth.fleet.v1.HAProxy
	5,  // 55: berth.fleet.v1.ExceptedSlot.code:type_name -> berth.fleet.v1.Code
	9,  // 56: berth.fleet.v1.Rejected.revision:type_name -> berth.fleet.v1.Mark
	5,  // 57: berth.fleet.v1.Rejected.code:type_name -> berth.fleet.v1.Code
	10, // 58: berth.fleet.v1.Failed.wanted:type_name -> berth.fleet.v1.Marks
	5,  // 59: berth.fleet.v1.Failed.code:type_name -> berth.fleet.v1.Code
	43, // 60: berth.fleet.v1.Failed.retry_in:type_name -> google.protobuf.Duration
	13, // 61: berth.fleet.v1.Observed.worker:type_name -> berth.fleet.v1.Worker
	10, // 62: berth.fleet.v1.Buckets.held:type_name -> berth.fleet.v1.Marks
	9,  // 63: berth.fleet.v1.Positions.generation:type_name -> berth.fleet.v1.Mark
	36, // 64: berth.fleet.v1.Positions.tables:type_name -> berth.fleet.v1.TablePositions
	8,  // 65: berth.fleet.v1.TablePositions.version:type_name -> berth.fleet.v1.Version
	37, // 66: berth.fleet.v1.TablePositions.slots:type_name -> berth.fleet.v1.SlotPosition
	5,  // 67: berth.fleet.v1.Inspected.code:type_name -> berth.fleet.v1.Code
	40, // 68: berth.fleet.v1.Inspected.backends:type_name -> berth.fleet.v1.InspectedBackend
	41, // 69: berth.fleet.v1.InspectedBackend.servers:type_name -> berth.fleet.v1.InspectedServer
	10, // 70: berth.fleet.v1.Heartbeat.newest:type_name -> berth.fleet.v1.Marks
	6,  // 71: berth.fleet.v1.FleetService.Sync:input_type -> berth.fleet.v1.SyncRequest
	7,  // 72: berth.fleet.v1.FleetService.Sync:output_type -> berth.fleet.v1.SyncResponse
	72, // [72:73] is the sub-list for method output_type
	71, // [71:72] is the sub-list for method input_type
	71, // [71:71] is the sub-list for extension type_name
	71, // [71:71] is the sub-list for extension extendee
	0,  // [0:71] is the sub-list for field type_name
}

func init() { file_berth_fleet_v1_fleet_proto_init() }
func file_berth_fleet_v1_fleet_proto_init() {
	if File_berth_fleet_v1_fleet_proto != nil {
		return
	}
	file_berth_fleet_v1_fleet_proto_msgTypes[0].OneofWrappers = []any{
		(*SyncRequest_Hello)(nil),
		(*SyncRequest_Received)(nil),
		(*SyncRequest_Applied)(nil),
		(*SyncRequest_Rejected)(nil),
		(*SyncRequest_Failed)(nil),
		(*SyncRequest_Observed)(nil),
		(*SyncRequest_Buckets)(nil),
		(*SyncRequest_Inspected)(nil),
		(*SyncRequest_Heartbeat)(nil),
		(*SyncRequest_Positions)(nil),
	}
	file_berth_fleet_v1_fleet_proto_msgTypes[1].OneofWrappers = []any{
		(*SyncResponse_Welcome)(nil),
		(*SyncResponse_Wait)(nil),
		(*SyncResponse_Update)(nil),
		(*SyncResponse_AskBuckets)(nil),
		(*SyncResponse_Inspect)(nil),
		(*SyncResponse_Heartbeat)(nil),
		(*SyncResponse_AskPositions)(nil),
	}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_berth_fleet_v1_fleet_proto_rawDesc), len(file_berth_fleet_v1_fleet_proto_rawDesc)),
			NumEnums:      6,
			NumMessages:   37,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_berth_fleet_v1_fleet_proto_goTypes,
		DependencyIndexes: file_berth_fleet_v1_fleet_proto_depIdxs,
		EnumInfos:         file_berth_fleet_v1_fleet_proto_enumTypes,
		MessageInfos:      file_berth_fleet_v1_fleet_proto_msgTypes,
	}.Build()
	File_berth_fleet_v1_fleet_proto = out.File
	file_berth_fleet_v1_fleet_proto_goTypes = nil
	file_berth_fleet_v1_fleet_proto_depIdxs = nil
}
