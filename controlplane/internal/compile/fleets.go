package compile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// updateFleets brings the set of fleets up to date and returns the names of those that are gone. Without any Fleet object there is one all the same, once something
// was read: before, nobody knows whether there is one.
func (c *Compiler) updateFleets(p *pass, changes store.Changes) (gone []string) {
	changed := len(c.fleets) == 0 && (len(changes.Objects) > 0 || listed(p.read))
	for i := range changes.Objects {
		if change := &changes.Objects[i]; change.Kind == source.KindFleet {
			c.takeFleet(change)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	wanted := map[string]*v1alpha1.Fleet{}
	for name, rows := range c.fleetRows {
		wanted[name] = rows[c.firstCluster(rows)]
	}
	if len(wanted) == 0 {
		wanted[v1alpha1.DefaultFleetName] = v1alpha1.NewFleet()
	}
	for _, name := range slices.Sorted(maps.Keys(c.fleets)) {
		if wanted[name] == nil {
			for secret := range c.fleets[name].bySecret {
				p.touched = append(p.touched, secret)
			}
			delete(c.fleets, name)
			gone = append(gone, name)
		}
	}
	for name, row := range wanted {
		c.updateFleet(name, row)
	}
	return gone
}

func listed(read store.Read) bool {
	for s := range read.Sources() {
		if s.Listed {
			return true
		}
	}
	return false
}

func (c *Compiler) takeFleet(change *store.Change) {
	rows := c.fleetRows[change.Name]
	obj, exists := change.After.(*v1alpha1.Fleet)
	switch {
	case exists && rows == nil:
		c.fleetRows[change.Name] = map[string]*v1alpha1.Fleet{change.Cluster: obj}
	case exists:
		rows[change.Cluster] = obj
	default:
		delete(rows, change.Cluster)
		if len(rows) == 0 {
			delete(c.fleetRows, change.Name)
		}
	}
}

// firstCluster is the one whose Fleet counts where several clusters have one of the same name.
func (c *Compiler) firstCluster(rows map[string]*v1alpha1.Fleet) string {
	return slices.MinFunc(slices.Collect(maps.Keys(rows)), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.place(a), c.place(b)), cmp.Compare(a, b))
	})
}

// updateFleet makes the fleet or gives it its new spec. With another spec every Ingress may have to be judged anew.
func (c *Compiler) updateFleet(name string, row *v1alpha1.Fleet) {
	filled := *row // the row belongs to all readers; Default replaces fields and alters nothing that they point to
	filled.Default()
	f := c.fleets[name]
	if f != nil && reflect.DeepEqual(f.spec, filled.Spec) {
		return
	}
	if f == nil {
		f = newFleet(c, name)
		c.fleets[name] = f
	}
	f.setSpec(filled.Spec)
	for ref := range c.ingresses {
		f.dirty.ingresses[ref] = struct{}{}
	}
}
