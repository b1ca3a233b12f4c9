package plan

import (
	"sort"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

// Reason says why a reload is needed: what the running worker cannot take.
type Reason uint8

// The reasons, the weightiest first: a plan names the first one that applies. None means that the worker takes it all at run time.
const (
	None Reason = iota
	Start
	Section
	Backend
	Certificate
	Map
	Slots
	Repair
)

func (r Reason) String() string {
	return [...]string{"none", "start", "section", "backend", "certificate", "map", "slots", "repair"}[r]
}

// MapChange is a change of one entry of a map that the worker has.
type MapChange struct {
	Map, Key string
	// Value is empty for an entry that goes. Was is what the worker has, and Had whether it has the entry.
	Value string
	Gone  bool
	Had   bool
}

// Revision says how a worker that runs `has` comes to the revision that the changes lead to: by a reload for the given reason, or by changes of maps.
func Revision(has *snapshot.Revision, changes snapshot.RevisionDelta) (Reason, []MapChange) {
	reason := None
	var maps []MapChange
	because := func(r Reason) {
		if reason == None || r < reason {
			reason = r
		}
	}
	for k, x := range changes.Changes {
		old := has.Get(k)
		if old == nil && x == nil || old != nil && x != nil && snapshot.ResourceDigest(old) == snapshot.ResourceDigest(x) {
			continue // changed and changed back
		}
		switch k.Kind {
		case snapshot.KindSection:
			because(Section)
		case snapshot.KindBackend:
			because(Backend)
		case snapshot.KindCertificate:
			because(Certificate)
		case snapshot.KindMap:
			because(Map)
		case snapshot.KindMapEntry:
			maps = append(maps, mapChange(k, old, x))
		}
	}
	sort.Slice(maps, func(i, j int) bool {
		if maps[i].Map != maps[j].Map {
			return maps[i].Map < maps[j].Map
		}
		return maps[i].Key < maps[j].Key
	})
	return reason, maps
}

func mapChange(k snapshot.Key, old, next snapshot.Resource) MapChange {
	mapName, key, _ := strings.Cut(k.Name, "\x00")
	c := MapChange{Map: mapName, Key: key, Had: old != nil, Gone: next == nil}
	if e, ok := next.(*snapshot.MapEntry); ok {
		c.Value = e.Value
	}
	return c
}

// MapCommands returns the commands that change the entries, additions and changes before removals so that no request in between falls through to a
// less specific entry. Words are escaped for the runtime socket.
func MapCommands(changes []MapChange) []Command {
	var set, gone []Command
	for _, c := range changes {
		file := render.MapFile(c.Map)
		switch {
		case c.Gone && c.Had:
			gone = append(gone, Command{Maps, "del map " + file + " " + render.Escape(c.Key), "", -1})
		case c.Gone:
		case c.Had:
			set = append(set, Command{Maps, "set map " + file + " " + render.Escape(c.Key) + " " + render.Escape(c.Value), "", -1})
		default:
			set = append(set, Command{Maps, "add map " + file + " " + render.Escape(c.Key) + " " + render.Escape(c.Value), "", -1})
		}
	}
	return append(set, gone...)
}
