package admin

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/controlplane/internal/changelog"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// maxWatchers bounds how many clients watch at a time: each is remembered what it was told.
const maxWatchers = 100

// rarely is every how many rounds a watcher looks at what costs more to look at: sources and objects.
const rarely = 10

// Watch tells the present state and then what changes. Each round looks at what there is now and sends what is not as it was told, so a client that
// reads slowly is told less often, of newer things.
func (s *Server) Watch(req *adminv1.WatchRequest, stream grpc.ServerStreamingServer[adminv1.WatchResponse]) error {
	if req.GetFleet() != "" {
		if _, err := s.fleet(req.GetFleet()); err != nil && len(s.Nodes.List(req.GetFleet())) == 0 {
			return err
		}
	}
	w := &watcher{
		server: s, stream: stream, only: req.GetFleet(),
		seed: maphash.MakeSeed(), heads: map[string]seen{}, problems: map[string]problems{}, told: map[string]told{},
	}
	if s.watchers.Add(1) > maxWatchers {
		s.watchers.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "%d clients are watching already; come back when one of them has ended", maxWatchers)
	}
	defer s.watchers.Add(-1)
	ticker := time.NewTicker(s.WatchEvery)
	defer ticker.Stop()
	for round := 0; ; round++ {
		if err := w.look(round%rarely == 0); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-s.closing:
			return status.Error(codes.Unavailable, "the control plane is shutting down")
		}
	}
}

// watcher is what one client has been told.
type watcher struct {
	server *Server
	stream grpc.ServerStreamingServer[adminv1.WatchResponse]
	only   string
	// What was looked at when it was last told of: a look that finds the same costs nothing more.
	heads map[string]seen
	nodes uint64
	// problems are those of each fleet when all was looked at last.
	problems map[string]problems
	// told has each thing as it was told, by what it is.
	told map[string]told
	seed maphash.Seed
}

// told is a thing by the hash of what was told of it: of ten thousand nodes a watcher would otherwise hold a copy. Of an object there is also what it
// takes to say that it is mended.
type told struct {
	fleet           string
	hash            uint64
	isObject        bool
	object, cluster string
}

// seen is what a fleet was when it was looked at.
type seen struct {
	fleet changelog.Fleet
	head  *changelog.Head
}

// look tells of everything that is not as it was told; of what costs more to look at only if all is wanted.
func (w *watcher) look(all bool) error {
	if err := w.fleets(all); err != nil {
		return err
	}
	if !all {
		return nil
	}
	if err := w.sources(); err != nil {
		return err
	}
	return w.objects()
}

// fleets tells of fleets and nodes. A node's state hangs on its fleet's newest, so both are looked at together.
func (w *watcher) fleets(all bool) error {
	now := map[string]seen{}
	for name, f := range w.server.Fleets.Fleets().All() {
		if w.only == "" || w.only == name {
			now[name] = seen{f, f.Log.Head()}
		}
	}
	newest := w.server.Nodes.Newest()
	if !all && maps.Equal(now, w.heads) && newest == w.nodes {
		return nil
	}
	views := w.server.Nodes.List(w.only)
	for name := range w.heads {
		if _, there := now[name]; !there {
			gone := &adminv1.Fleet{Name: name, Waiting: "the fleet is no more; its nodes keep what they have"}
			if err := w.tell("fleet "+name, name, gone, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_FleetChanged{FleetChanged: gone}}); err != nil {
				return err
			}
		}
	}
	w.heads, w.nodes = now, newest
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := w.problems[name]; all || !known {
			w.problems[name] = w.server.problems(name)
		}
		f := w.server.showFleet(now[name].fleet, w.problems[name])
		if err := w.tell("fleet "+name, name, f, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_FleetChanged{FleetChanged: f}}); err != nil {
			return err
		}
	}
	for _, v := range views {
		n := showNode(v, now[v.Fleet].head)
		heard := n.GetLastHeard()
		n.LastHeard = nil // it is no news that a node was heard of
		key, event := "node "+nodeKey(v), proto.CloneOf(n)
		event.LastHeard = heard
		if err := w.tell(key, v.Fleet, n, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_NodeChanged{NodeChanged: event}}); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) sources() error {
	for src := range w.server.Store.Read().Sources() {
		m := w.server.showSource(src)
		if err := w.tell("source "+src.Name, "", m, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_SourceChanged{SourceChanged: m}}); err != nil {
			return err
		}
	}
	return nil
}

// objects tells of problems, and of those that are no more: without a state.
func (w *watcher) objects() error {
	present := map[string]struct{}{}
	for _, fleet := range slices.Sorted(maps.Keys(w.heads)) {
		for _, p := range w.server.Compiler.Problems(fleet) {
			m := showProblem(p)
			key := "object " + fleet + "\x00" + problemKey(p)
			present[key] = struct{}{}
			if err := w.tell(key, fleet, m, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_ObjectChanged{ObjectChanged: m}}); err != nil {
				return err
			}
		}
	}
	for key, t := range w.told {
		if _, still := present[key]; !t.isObject || still {
			continue
		}
		mended := &adminv1.Object{Object: t.object, Cluster: t.cluster}
		if err := w.send(t.fleet, &adminv1.WatchResponse{Event: &adminv1.WatchResponse_ObjectChanged{ObjectChanged: mended}}); err != nil {
			return err
		}
		delete(w.told, key)
	}
	return nil
}

// tell sends the event unless the thing is as it was told.
func (w *watcher) tell(key, fleet string, thing proto.Message, event *adminv1.WatchResponse) error {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(thing)
	if err != nil {
		return status.Errorf(codes.Internal, "tell of %s: %v", key, err)
	}
	now := told{fleet: fleet, hash: maphash.Bytes(w.seed, text)}
	if o, ok := thing.(*adminv1.Object); ok {
		now.isObject, now.object, now.cluster = true, o.GetObject(), o.GetCluster()
	}
	if w.told[key] == now {
		return nil
	}
	w.told[key] = now
	return w.send(fleet, event)
}

func (w *watcher) send(fleet string, event *adminv1.WatchResponse) error {
	event.Time, event.Fleet = timestamppb.Now(), fleet
	return w.stream.Send(event)
}
