package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

// BackendInfo says where a backend of the revision comes from.
type BackendInfo struct {
	Name string
	// Service is namespace/name:port.
	Service string
	Cluster string
	// Namespace, ServiceName and Port are its parts.
	Namespace, ServiceName, Port string
}

func (b *backend) info() BackendInfo {
	return BackendInfo{
		Name: b.Name, Service: b.Reference(), Cluster: b.Service.Cluster,
		Namespace: b.Service.Namespace, ServiceName: b.Service.Name, Port: b.Port.String(),
	}
}

// Home is the first source on the command line, whose backends have no prefix in their names.
func (c *Compiler) Home() string { return c.home }

// Backends lists the backends of a fleet's revision by name, without the one that answers 503.
func (c *Compiler) Backends(fleet string) []BackendInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := c.fleets[fleet]
	if f == nil {
		return nil
	}
	list := make([]BackendInfo, 0, len(f.backends))
	for _, name := range slices.Sorted(maps.Keys(f.backends)) {
		if b := f.backends[name]; b.live {
			list = append(list, b.info())
		}
	}
	return list
}

// Backend finds one backend by its name, or by namespace/name:port of its service, where the one with the fleet's own settings comes first.
func (c *Compiler) Backend(fleet, name string) (BackendInfo, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := c.fleets[fleet]
	if f == nil {
		return BackendInfo{}, false
	}
	if b := f.backends[name]; b != nil && b.live {
		return b.info(), true
	}
	for _, candidate := range slices.Sorted(maps.Keys(f.backends)) {
		if b := f.backends[candidate]; b.live && b.Reference() == name {
			return b.info(), true
		}
	}
	return BackendInfo{}, false
}

// RouteInfo is a route of a fleet.
type RouteInfo struct {
	// Host is "" for any.
	Host, Path string
	Match      desired.Match
	// Backend is the name in the configuration; Service is namespace/name:port, empty where the route is closed.
	Backend, Service string
	// Ingress is namespace/name of whose route it is.
	Ingress, Cluster string
}

func infoOf(r desired.Route) RouteInfo {
	return RouteInfo{
		Host: r.Host, Path: r.Path, Match: r.Match, Backend: target(r.Backend), Service: r.Backend.Reference(),
		Ingress: r.Ingress.String(), Cluster: r.Ingress.Cluster,
	}
}

// Routes lists the routes of a fleet by host, path and match. What a host's unmatched paths go to has the match Default; the fleet's oldest default backend
// is that of the host "".
func (c *Compiler) Routes(fleet string) []RouteInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f := c.fleets[fleet]
	if f == nil {
		return nil
	}
	var list []RouteInfo
	fallback := f.fallback
	for host, routes := range f.routes {
		for _, r := range routes {
			if host == "" && r.Match == desired.Default {
				fallback = nil // hosts that nobody names have a default of their own
			}
			list = append(list, infoOf(r))
		}
	}
	if fallback != nil {
		list = append(list, infoOf(*fallback))
	}
	slices.SortFunc(list, func(a, b RouteInfo) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Match, b.Match))
	})
	return list
}
