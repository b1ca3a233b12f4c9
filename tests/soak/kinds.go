package soak

import (
	"math/rand/v2"
	"time"
)

// A Kind is a kind of fault.
type Kind struct {
	Name  string
	Where Where
	// Takes names what a fault has for itself: faults that take the same of the same place never overlap.
	Takes []string
	// Least and Most bound how long it lasts; both are zero for one that is over as soon as it was done.
	Least, Most time.Duration
	// Kills says that HAProxy's own connections break.
	Kills bool
	// Only is the number of the one node, from 1, that it can happen to; 0 for all.
	Only int
	// Early says that it is over before the last changes of routes are: it makes such changes itself, or holds a reload up, after which the next
	// is put off for twice as long.
	Early bool
	// Rough is for what is mended in its own time, beyond the product's promises: files that are removed under HAProxy's feet take two reloads when they go in
	// the middle of one. It is met only when it is picked by name.
	Rough bool
	// do begins it and returns what ends it, nil if nothing has to be done for that.
	do func(r *Run, n *node, random *rand.Rand) (end func() error, err error)
}

// What faults take.
const (
	agent    = "agent"
	traffic  = "haproxy"
	network  = "network"
	files    = "files"
	socket   = "socket"
	plane    = "plane"
	objects  = "objects"
	revision = "revision"
	pod      = "pod"
	away     = "away"
)

// Kinds are the kinds of faults, with or without that of a full disk, for which a small disk has to be there. A fault after whose end somebody waits twice as long each time is short: the next try has to come within the five seconds of SOAK-4.
func Kinds(smallDisk bool) []Kind {
	const ms, s = time.Millisecond, time.Second
	kinds := []Kind{
		{Name: "agent killed", Takes: []string{agent}, Least: 200 * ms, Most: 5 * s, do: agentKilled(atOnce)},
		{Name: "agent killed in a batch", Takes: []string{agent}, Least: 200 * ms, Most: 3 * s, do: agentKilled(inBatch)},
		{Name: "agent killed in a reload", Early: true, Takes: []string{agent}, Least: 200 * ms, Most: 3 * s, do: agentKilled(inReload)},
		{Name: "agent frozen", Takes: []string{agent}, Early: true, Least: 500 * ms, Most: 3500 * ms, do: agentFrozen},
		{Name: "journal cut short", Takes: []string{agent}, Least: 200 * ms, Most: 2 * s, do: journalHarmed(cutShort)},
		{Name: "journal altered", Takes: []string{agent}, Least: 200 * ms, Most: 2 * s, do: journalHarmed(altered)},
		{Name: "journal gone", Takes: []string{agent}, Least: 200 * ms, Most: 2 * s, do: journalHarmed(gone)},

		{Name: "worker killed", Takes: []string{traffic}, Kills: true, do: killed(worker, atOnce)},
		{Name: "worker killed in a batch", Takes: []string{traffic}, Kills: true, do: killed(worker, inBatch)},
		{Name: "HAProxy killed", Takes: []string{traffic}, Kills: true, do: killed(master, atOnce)},
		{Name: "HAProxy killed in a reload", Early: true, Takes: []string{traffic}, Kills: true, do: killed(master, inReload)},
		{Name: "HAProxy killed, its port taken", Takes: []string{traffic}, Kills: true, Least: 1 * s, Most: 2500 * ms, do: portTaken},
		{Name: "worker frozen", Takes: []string{traffic}, Least: 200 * ms, Most: 800 * ms, do: workerFrozen},
		{Name: "frontend closed by hand", Takes: []string{traffic}, Kills: true, do: frontendClosed},
		{Name: "worker's socket removed", Rough: true, Takes: []string{socket}, do: socketRemoved},
		{Name: "state directory emptied", Rough: true, Takes: []string{socket, files, agent}, do: stateEmptied},
		{Name: "worker's socket away", Takes: []string{socket}, Least: 500 * ms, Most: 3 * s, do: socketAway},

		{Name: "slot changed by hand", Takes: []string{traffic}, do: slotChanged},
		{Name: "reload by hand, old file", Takes: []string{traffic}, Least: 1 * s, Most: 5 * s, do: oldFile},
		{Name: "configuration edited by hand", Takes: []string{files}, do: configurationEdited},

		{Name: "network cut", Takes: []string{network}, do: networkCut},
		{Name: "network away", Takes: []string{network}, Least: 500 * ms, Most: 4 * s, do: networkAway},
		{Name: "network slow", Takes: []string{network}, Least: 2 * s, Most: 8 * s, do: networkSlow},
		{Name: "network stopped to the plane", Takes: []string{network}, Least: 500 * ms, Most: 6 * s, do: networkStopped(up)},
		{Name: "network stopped to the node", Takes: []string{network}, Least: 500 * ms, Most: 6 * s, do: networkStopped(down)},
		{Name: "network forgot the node", Takes: []string{network}, Least: 500 * ms, Most: 4 * s, do: networkForgot},

		{Name: "plane killed", Where: OnPlane, Takes: []string{plane}, Least: 10 * ms, Most: 4 * s, do: planeKilled},
		{Name: "plane killed, source empty when it is back", Where: OnPlane, Takes: []string{plane, away}, Least: 1 * s, Most: 5 * s, do: planeKilledSourceEmpty},
		{Name: "plane frozen", Where: OnPlane, Takes: []string{plane}, Least: 500 * ms, Most: 6 * s, do: planeFrozen},
		{Name: "source away", Where: OnSource, Takes: []string{away}, Least: 500 * ms, Most: 6 * s, do: sourceAway},
		{Name: "pod killed", Where: OnSource, Takes: []string{pod}, Least: 500 * ms, Most: 4 * s, do: podKilled},
		{Name: "file broken", Where: OnSource, Takes: []string{objects}, Least: 500 * ms, Most: 6 * s, do: fileBroken},
		{Name: "revision that HAProxy refuses", Where: OnSource, Takes: []string{revision}, Least: 1 * s, Most: 6 * s, do: refusedRevision},
	}
	if smallDisk {
		kinds = append(kinds, Kind{Name: "disk full", Takes: []string{files}, Only: 1, Least: 500 * ms, Most: 2500 * ms, do: diskFull})
	}
	return kinds
}
