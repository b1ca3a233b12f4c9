package soak

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// SOAK-1 to SOAK-5. The time and the seed of a run come from the environment: BERTH_SOAK_DURATION (2m), BERTH_SOAK_SEED (by the time), BERTH_SOAK_FAULTS (a
// regular expression that picks kinds of faults), BERTH_SOAK_KEEP (a folder for the
// logs of a run that found something).
func TestRandomFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("BERTH_SOAK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("BERTH_SOAK_SEED: %v", err)
		}
	}
	length := 2 * time.Minute
	if text := os.Getenv("BERTH_SOAK_DURATION"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("BERTH_SOAK_DURATION: %v", err)
		}
	}
	t.Logf("BERTH_SOAK_SEED=%d BERTH_SOAK_DURATION=%v", seed, length)
	disk := smallDisk(t)
	only, err := regexp.Compile(os.Getenv("BERTH_SOAK_FAULTS"))
	if err != nil {
		t.Fatalf("BERTH_SOAK_FAULTS: %v", err)
	}
	kinds := slices.DeleteFunc(Kinds(disk != ""), func(k Kind) bool { return k.Rough && only.String() == "" || !only.MatchString(k.Name) })
	rounds := Plan(seed, length, 2*nodesEach, kinds)
	New(t, Options{Seed: seed, Length: length, Keep: os.Getenv("BERTH_SOAK_KEEP")}, disk).Play(rounds)
}
