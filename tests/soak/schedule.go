package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Where says what a kind of fault happens to.
type Where int

// The places of faults.
const (
	OnNode Where = iota
	OnPlane
	OnSource
)

// A Fault is one fault of a plan. Begin and End are measured from the begin of its round.
type Fault struct {
	Number     int
	Kind       *Kind
	Node       int // of a fault on a node, else -1
	Begin, End time.Duration
	Seed       uint64 // of what the fault chooses itself
}

func (f Fault) String() string {
	place := ""
	if f.Node >= 0 {
		place = fmt.Sprintf(" on node %d", f.Node+1)
	}
	return fmt.Sprintf("#%d %s%s, %.1f to %.1f s", f.Number, f.Kind.Name, place, f.Begin.Seconds(), f.End.Seconds())
}

// meets says whether two faults take the same thing of the same place (SOAK-7).
func (f Fault) meets(o Fault) bool {
	return f.Node == o.Node && slices.ContainsFunc(f.Kind.Takes, func(what string) bool { return slices.Contains(o.Kind.Takes, what) })
}

// A Round is one storm; what follows it is a calm.
type Round struct{ Faults []Fault }

const (
	// Storm is how long faults may be on without a calm. Pods serve on for longer than that (see serveOn): news that are held back for a storm
	// come before a pod ends.
	Storm = 11 * time.Second
	// Quiet is when changes that take reloads end: reloads are spaced, and the last of them is no fault.
	Quiet = Storm - 3*time.Second
	// perStorm is how many faults are put into a storm, where they find room.
	perStorm = 6
	// apart is the least time between two faults that take the same.
	apart = 500 * time.Millisecond
)

// Plan is a schedule of faults, the same for the same seed (SOAK-6). It has more rounds than the time has room for, as nobody knows how long a calm takes.
func Plan(seed uint64, length time.Duration, nodes int, kinds []Kind) []Round {
	random := rand.New(rand.NewPCG(seed, 1))
	rounds := make([]Round, 1+int(length/Storm))
	var deck []*Kind
	number := 0
	for i := range rounds {
		// Kinds are dealt like cards, so that each is there before one comes again.
		var again []*Kind
		for tries := 0; len(rounds[i].Faults) < perStorm && tries < 4*perStorm; tries++ {
			if len(deck) == 0 {
				for k := range kinds {
					deck = append(deck, &kinds[k])
				}
				random.Shuffle(len(deck), func(a, b int) { deck[a], deck[b] = deck[b], deck[a] })
			}
			kind := deck[0]
			deck = deck[1:]
			f, ok := place(random, kind, nodes, rounds[i].Faults)
			if !ok {
				again = append(again, kind)
				continue
			}
			number++
			f.Number = number
			rounds[i].Faults = append(rounds[i].Faults, f)
		}
		deck = append(again, deck...)
	}
	return rounds
}

// place finds a time and a node for a fault beside others (SOAK-7).
func place(random *rand.Rand, kind *Kind, nodes int, others []Fault) (Fault, bool) {
	for range 20 {
		f := Fault{Kind: kind, Node: -1, Seed: random.Uint64()}
		if kind.Where == OnNode {
			f.Node = random.IntN(nodes)
		}
		if kind.Only > 0 {
			f.Node = kind.Only - 1
		}
		length := kind.Least
		if spread := kind.Most - kind.Least; spread > 0 {
			length += time.Duration(random.Int64N(int64(spread)))
		}
		last := Storm - length
		if kind.Early {
			last = Quiet - length
		}
		f.Begin = time.Duration(random.Int64N(int64(last)))
		f.End = f.Begin + length
		clash := func(o Fault) bool { return o.meets(f) && f.Begin < o.End+apart && o.Begin < f.End+apart }
		most := func(o Fault) bool { return kind.Kills && o.Kind.Kills && o.Node == f.Node }
		if !slices.ContainsFunc(others, clash) && !slices.ContainsFunc(others, most) {
			return f, true
		}
	}
	return Fault{}, false
}
