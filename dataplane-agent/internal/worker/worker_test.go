package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
	"github.com/berth-proxy/berth/dataplane-agent/internal/worker"
)

func apply(t *testing.T, w *worker.Worker, tables []worker.Table, maps ...plan.MapChange) worker.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := w.Apply(ctx, tables, maps)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWORKER1_WhatIsEqualIsReadFromTheWorker(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1001, 20), slot(-2002, 30), {}}}, {Backend: "empty"}})
		if !out.Complete() || len(out.Refused) > 0 {
			t.Errorf("outcome %+v", out)
		}
		if got, want := servers(t, dir, "a"), "ready 127.0.0.1:1001 20, drain 127.0.0.1:2002 30, maint 192.0.2.1:1"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		// A shorter table leaves the rest free.
		if out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1001, 20)}}}); !out.Complete() {
			t.Errorf("outcome %+v", out)
		}
		if got, want := servers(t, dir, "a"), "ready 127.0.0.1:1001 20, maint 192.0.2.1:1, maint 192.0.2.1:1"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
	})
}

func TestWORKER2_ARefusedSlotIsVacatedAndTheRestIsApplied(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		// A static balance takes no other weight than that of the start.
		out := apply(t, w, []worker.Table{
			{Backend: "static", Slots: []snapshot.Slot{slot(1001, 33), slot(1002, 100)}},
			{Backend: "a", Slots: []snapshot.Slot{slot(1003, 33), {}, {}}},
		})
		if !out.Complete() || len(out.Refused) != 1 || !strings.Contains(out.Refused[worker.Slot{Backend: "static", Index: 0}], "static") {
			t.Errorf("outcome %+v", out)
		}
		if got, want := servers(t, dir, "static"), "maint 192.0.2.1:1, ready 127.0.0.1:1002 100"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got, want := servers(t, dir, "a"), "ready 127.0.0.1:1003 33, maint 192.0.2.1:1, maint 192.0.2.1:1"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
	})
}

// A refused slot that does not get free either is no success.
func TestWORKER2_ARefusedSlotIsReadToBeFree(t *testing.T) {
	f := serve(t, func(line string) string {
		switch {
		case strings.HasPrefix(line, "show servers state"):
			return state([6]string{"a", "s1", "10.0.0.9", "80", "1", "0"})
		case strings.Contains(line, " addr "):
			return "Invalid addr '10.0.0.1'\n"
		}
		return ""
	})
	w := dial(t, f.dir)
	out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1, 1)}}})
	if out.Complete() || !slices.Equal(out.Different, []string{"a"}) {
		t.Errorf("outcome %+v", out)
	}
}

func TestATableThatTheWorkerLacksServersFor(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		longer := func(backend string) worker.Table {
			return worker.Table{Backend: backend, Slots: []snapshot.Slot{slot(1001, 100), {}, {}, slot(1004, 7), slot(-1005, 8)}}
		}
		w := dial(t, dir)
		if out := apply(t, w, []worker.Table{longer("a")}); out.Missing["a"] != 2 || len(out.Different) > 0 {
			t.Errorf("without add server: %+v", out)
		}
		if got, want := servers(t, dir, "a"), "ready 127.0.0.1:1001 100, maint 192.0.2.1:1, maint 192.0.2.1:1"; got != want {
			t.Errorf("what there is: %q, want %q", got, want)
		}
		w.CanAdd = true
		if out := apply(t, w, []worker.Table{longer("a"), longer("empty"), longer("static")}); len(out.Missing) != 1 || out.Missing["static"] != 3 || len(out.Refused) > 0 || len(out.Different) > 0 {
			t.Errorf("with add server: %+v", out)
		}
		if got, want := servers(t, dir, "a"), "ready 127.0.0.1:1001 100, maint 192.0.2.1:1, maint 192.0.2.1:1, ready 127.0.0.1:1004 7, drain 127.0.0.1:1005 8"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
		if got := servers(t, dir, "empty"); !strings.HasPrefix(got, "ready 127.0.0.1:1001 100, maint") || !strings.HasSuffix(got, "drain 127.0.0.1:1005 8") {
			t.Errorf("servers %q", got)
		}
		if out := apply(t, w, []worker.Table{longer("static")}); out.Missing["static"] != 3 {
			t.Errorf("once more: %+v", out)
		}
	})
}

func TestABackendThatTheWorkerDoesNotHave(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		out := apply(t, w, []worker.Table{{Backend: "none", Slots: []snapshot.Slot{slot(1, 1)}}, {Backend: "a", Slots: []snapshot.Slot{slot(1001, 1), {}, {}}}})
		if !slices.Equal(out.Absent, []string{"none"}) || out.Complete() || len(out.Different) > 0 {
			t.Errorf("outcome %+v", out)
		}
		if got := servers(t, dir, "a"); !strings.HasPrefix(got, "ready 127.0.0.1:1001 1,") {
			t.Errorf("servers %q", got)
		}
	})
}

// Servers that are not named as ours end the table: what follows them cannot be relied on, and a reload mends it.
func TestServersOfOthersAreNoSlots(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		if out := apply(t, w, []worker.Table{{Backend: "others", Slots: []snapshot.Slot{slot(1, 1), slot(2, 1)}}}); out.Missing["others"] != 2 {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestWORKER3_PhasesGoOverAllBackends(t *testing.T) {
	f := serve(t, func(line string) string {
		if strings.HasPrefix(line, "show servers state") {
			b := strings.TrimPrefix(line, "show servers state ")
			return state([6]string{b, "s1", "127.0.0.1", "1", "1", "1"}, [6]string{b, "s2", "10.0.0.2", "80", "1", "0"}, [6]string{b, "s3", "10.0.0.3", "80", "1", "0"})
		}
		return ""
	})
	w := dial(t, f.dir)
	table := []snapshot.Slot{slot(1, 5), slot(-2, 5), {}}
	apply(t, w, []worker.Table{{Backend: "a", Slots: table}, {Backend: "b", Slots: table}}, plan.MapChange{Map: "m", Key: "/k", Value: "b"}, plan.MapChange{Map: "m", Key: "/o", Gone: true, Had: true})
	var phases []string
	for _, l := range f.written() {
		phase := "maps"
		switch {
		case strings.Contains(l, "/s1 "):
			phase = "enable"
		case strings.Contains(l, "/s2 "):
			phase = "drain"
		case strings.Contains(l, "/s3 "):
			phase = "disable"
		}
		if len(phases) == 0 || phases[len(phases)-1] != phase {
			phases = append(phases, phase)
		}
	}
	if !slices.Equal(phases, []string{"enable", "maps", "drain", "disable"}) {
		t.Errorf("phases %v of %q", phases, f.written())
	}
}

// WORKER-1: a worker that answers and never shows the change is different, and is asked for some 50 ms before that is said.
func TestWORKER1_AChangeThatIsNeverVisible(t *testing.T) {
	f := serve(t, func(line string) string {
		if strings.HasPrefix(line, "show servers state") {
			return state([6]string{"a", "s1", "192.0.2.1", "1", "1", "1"})
		}
		return ""
	})
	w := dial(t, f.dir)
	began := time.Now()
	out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1, 1)}}})
	if !slices.Equal(out.Different, []string{"a"}) || out.Complete() {
		t.Errorf("outcome %+v", out)
	}
	if took := time.Since(began); took < 25*time.Millisecond {
		t.Errorf("after %s already", took)
	}
}

// WORKER-1: one that shows it late is not.
func TestWORKER1_AChangeThatIsVisibleLate(t *testing.T) {
	var reads atomic.Int32
	f := serve(t, func(line string) string {
		switch {
		case !strings.HasPrefix(line, "show servers state"):
			return ""
		case reads.Add(1) < 4:
			return state([6]string{"a", "s1", "192.0.2.1", "1", "1", "1"})
		}
		return state([6]string{"a", "s1", "127.0.0.1", "1", "1", "0"})
	})
	w := dial(t, f.dir)
	if out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1, 1)}}}); !out.Complete() {
		t.Errorf("outcome %+v", out)
	}
}

// WORKER-4: after a connection that broke in the middle of a batch nothing is taken for known.
func TestWORKER4_AfterAnErrorNothingIsKnown(t *testing.T) {
	var breaks atomic.Bool
	f := serve(t, func(line string) string {
		switch {
		case strings.HasPrefix(line, "show servers state"):
			return state([6]string{"a", "s1", "192.0.2.1", "1", "1", "1"})
		case breaks.Load():
			return "close"
		}
		return ""
	})
	w := dial(t, f.dir)
	breaks.Store(true)
	if _, err := w.Apply(context.Background(), []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1, 1)}}}, nil); !errors.Is(err, haproxy.ErrConnection) {
		t.Errorf("error %v", err)
	}
	if _, known := w.Backends()["a"]; known {
		t.Error("what the worker has is taken for known")
	}
}

func TestALeavingWorkerIsToldFromABrokenOne(t *testing.T) {
	f := serve(t, func(line string) string {
		switch {
		case line == "show info":
			return "Pid: 7\nStopping: 1\n"
		case strings.HasPrefix(line, "show servers state"):
			return state([6]string{"a", "s1", "192.0.2.1", "1", "1", "1"})
		}
		return "Proxy is disabled.\n"
	})
	w := dial(t, f.dir)
	if _, err := w.Apply(context.Background(), []worker.Table{{Backend: "a", Slots: []snapshot.Slot{slot(1, 1)}}}, nil); !errors.Is(err, haproxy.ErrStopping) {
		t.Errorf("error %v", err)
	}
	if err := w.Serves(context.Background()); !errors.Is(err, haproxy.ErrStopping) {
		t.Errorf("it is said to serve: %v", err)
	}
}

func TestMapsAreReadBackAndWrittenAnewIfTheyDiffer(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		entries := func(pairs ...string) func(func(*snapshot.MapEntry) bool) {
			return func(yield func(*snapshot.MapEntry) bool) {
				for i := 0; i < len(pairs); i += 2 {
					if !yield(&snapshot.MapEntry{Map: "m", Name: pairs[i], Value: pairs[i+1]}) {
						return
					}
				}
			}
		}
		has := func(pairs ...string) {
			t.Helper()
			if same, err := w.CheckMap(context.Background(), "m", entries(pairs...)); err != nil || !same {
				t.Errorf("the map does not hold %q (%v)", pairs, err)
			}
		}
		out := apply(t, w, nil, plan.MapChange{Map: "m", Key: "/a", Value: "static", Had: true}, plan.MapChange{Map: "m", Key: "/b", Gone: true, Had: true},
			plan.MapChange{Map: "m", Key: `/odd;\key`, Value: "a b;c"})
		if !out.Complete() {
			t.Errorf("outcome %+v", out)
		}
		has("/a", "static", `/odd;\key`, "a b;c")
		// Somebody has added the entry already: it would be there twice, and the first one counts.
		if out := apply(t, w, nil, plan.MapChange{Map: "m", Key: "/a", Value: "empty"}); !slices.Equal(out.Maps, []string{"m"}) {
			t.Errorf("outcome %+v", out)
		}
		var many []string
		for i := range 2000 {
			many = append(many, fmt.Sprint("/many/", i), "a")
		}
		if err := w.ReplaceMap(context.Background(), "m", entries(many...)); err != nil {
			t.Fatal(err)
		}
		has(many...)
		if same, err := w.CheckMap(context.Background(), "m", entries(many[2:]...)); err != nil || same {
			t.Errorf("an entry too many is not seen (%v)", err)
		}
		if out := apply(t, w, nil, plan.MapChange{Map: "none", Key: "/a", Value: "a"}); !slices.Equal(out.Maps, []string{"none"}) {
			t.Errorf("outcome %+v", out)
		}
		if err := w.ReplaceMap(context.Background(), "none", entries("/a", "a")); !errors.Is(err, haproxy.ErrRefused) {
			t.Errorf("a map that is not there: %v", err)
		}
	})
}

// A map whose commit was lost does not count as written.
func TestAMapThatIsNotVisible(t *testing.T) {
	f := serve(t, func(line string) string {
		switch {
		case strings.HasPrefix(line, "prepare map"):
			return "New version created: 3\n"
		case strings.HasPrefix(line, "show map"):
			return "0x1 /old a\n"
		}
		return ""
	})
	w := dial(t, f.dir)
	err := w.ReplaceMap(context.Background(), "m", func(yield func(*snapshot.MapEntry) bool) { yield(&snapshot.MapEntry{Map: "m", Name: "/a", Value: "a"}) })
	if !errors.Is(err, worker.ErrNotVisible) {
		t.Errorf("error %v", err)
	}
}

// NODE-2's first step: a worker is brought from what its configuration said to what is wanted without being read first.
func TestWhatAConfigurationSaysIsAssumed(t *testing.T) {
	eachHAProxy(t, func(t *testing.T, binary string) {
		dir := run(t, binary)
		w := dial(t, dir)
		w.Assume("a", []snapshot.Slot{{}, slot(2002, 50), {}})
		if out := apply(t, w, []worker.Table{{Backend: "a", Slots: []snapshot.Slot{{}, slot(-2002, 50), slot(1003, 9)}}}); !out.Complete() {
			t.Errorf("outcome %+v", out)
		}
		if got, want := servers(t, dir, "a"), "maint 192.0.2.1:1, drain 127.0.0.1:2002 50, ready 127.0.0.1:1003 9"; got != want {
			t.Errorf("servers %q, want %q", got, want)
		}
	})
}
