package soak

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// SOAK-6: a plan follows from its seed, and no two seeds are alike.
func TestSOAK6SamePlanForTheSameSeed(t *testing.T) {
	text := func(seed uint64) string { return fmt.Sprint(Plan(seed, time.Hour, 4, Kinds(true))) }
	first := text(7)
	if again := text(7); again != first {
		t.Error("the same seed gave two plans")
	}
	if text(8) == first {
		t.Error("two seeds gave one plan")
	}
}

// SOAK-7: what takes the same thing never overlaps, and every fault is over with its storm. Two minutes have every kind.
func TestSOAK7Plan(t *testing.T) {
	for seed := range uint64(500) {
		kinds := slices.DeleteFunc(Kinds(seed%2 == 0), func(k Kind) bool { return k.Rough })
		rounds := Plan(seed, 2*time.Minute, 4, kinds)
		seen := map[string]int{}
		for _, round := range rounds {
			for i, f := range round.Faults {
				seen[f.Kind.Name]++
				switch {
				case f.Begin < 0 || f.End < f.Begin || f.End > Storm || f.Kind.Early && f.End > Quiet:
					t.Fatalf("%v does not fit into its storm", f)
				case (f.Node >= 0) != (f.Kind.Where == OnNode), f.Node >= 4, f.Kind.Only > 0 && f.Node != f.Kind.Only-1:
					t.Fatalf("%v is at no place for it", f)
				case f.End-f.Begin < f.Kind.Least || f.End-f.Begin > f.Kind.Most:
					t.Fatalf("%v is to last %v to %v", f, f.Kind.Least, f.Kind.Most)
				}
				for _, o := range round.Faults[:i] {
					if o.meets(f) && f.Begin < o.End && o.Begin < f.End {
						t.Fatalf("%v overlaps %v", f, o)
					}
				}
			}
			if n := len(round.Faults); n < perStorm {
				t.Fatalf("a storm has %d faults only: %v", n, round)
			}
		}
		for _, k := range kinds {
			if seen[k.Name] == 0 {
				t.Fatalf("seed %d: %s is in none of %d rounds", seed, k.Name, len(rounds))
			}
		}
	}
}
