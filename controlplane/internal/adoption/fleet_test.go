package adoption

import (
	"testing"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
)

var (
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	timing = Timing{Wait: 2 * time.Second, Patience: 2 * time.Second, Answer: 10 * time.Second}
)

func after(d time.Duration) time.Time { return start.Add(d) }

func asked(h *Holder) bool {
	select {
	case <-h.Asked():
		return true
	default:
		return false
	}
}

// told is what a node tells that holds one table with so many slots.
func told(t *testing.T, length int) *wire.Positions {
	version := snapshot.Version{Epoch: 1, Number: uint64(length)}
	return positions(t, version, &snapshot.Table{Backend: "web", Version: version, Slots: make([]snapshot.Slot, length)})
}

func holding(p *wire.Positions) wire.Marks { return wire.Marks{Generation: p.Generation} }

func TestADOPT1NodesThatHoldTheSameAreOneQuestion(t *testing.T) {
	f, p := New(timing, func() {}), told(t, 4)
	var nodes []*Holder
	for range 1000 {
		nodes = append(nodes, f.Meet(holding(p), true, start))
	}
	count := func() (n int) {
		for _, h := range nodes {
			if asked(h) {
				n++
			}
		}
		return n
	}
	if !asked(nodes[0]) || count() != 1 {
		t.Fatalf("%d of 1,000 nodes were asked at once", count())
	}
	nodes[0].Leave(after(time.Second))
	if !asked(nodes[1]) || count() != 2 {
		t.Fatal("the one that was asked left, and not exactly one other was asked")
	}
	f.Status(after(2 * time.Second))
	if count() != 2 {
		t.Error("another was asked although the first has not had its time")
	}
	f.Status(after(4 * time.Second))
	if !asked(nodes[2]) || count() != 3 {
		t.Error("one that is slow was not joined by another")
	}
	for _, h := range nodes {
		if _, known := h.Holdings(); known {
			t.Fatal("it is known already")
		}
	}
	nodes[2].Answer(p, after(4*time.Second))
	for _, h := range nodes[1:] {
		if holdings, known := h.Holdings(); !known || holdings["web"] != p.Tables["web"].Digest {
			t.Fatal("what one has told is not known of the others")
		}
	}
	f.Meet(holding(p), true, after(5*time.Second))
	f.Status(after(9 * time.Second))
	if count() != 3 {
		t.Error("somebody was asked for what is known")
	}
	// Another generation is another question.
	q := told(t, 8)
	if h := f.Meet(holding(q), true, after(9*time.Second)); !asked(h) {
		t.Error("who holds something else was not asked")
	}
	if h := f.Meet(holding(told(t, 12)), false, after(9*time.Second)); asked(h) {
		t.Error("a node was asked that cannot be any more")
	}
}

func TestADOPT1AnswersUnderWayAreBounded(t *testing.T) {
	f := New(timing, func() {})
	var nodes []*Holder
	var answers []*wire.Positions
	for i := range 3 * maxAtOnce {
		answers = append(answers, told(t, 4+i))
		nodes = append(nodes, f.Meet(holding(answers[i]), true, start))
	}
	for range 3 {
		var open []int
		for i, h := range nodes {
			if asked(h) && answers[i] != nil {
				open = append(open, i)
			}
		}
		if len(open) != maxAtOnce {
			t.Fatalf("%d answers are under way", len(open))
		}
		for _, i := range open {
			nodes[i].Answer(answers[i], start)
			answers[i] = nil
		}
	}
	if s := f.Status(after(2 * time.Second)); !s.Over {
		t.Error("everybody has answered, and it is not over")
	}
}

func TestADOPT5TheWaitEnds(t *testing.T) {
	p := told(t, 4)
	over := func(f *Fleet, d time.Duration) bool { return f.Status(after(d)).Over }

	f := New(timing, func() {})
	if over(f, time.Hour) {
		t.Error("it is over before anybody came")
	}
	f.Meet(wire.Marks{}, true, start)
	if s := f.Status(start); s.Over || !s.Next.Equal(after(2*time.Second)) {
		t.Errorf("a node that has nothing: %+v", s)
	}
	if !over(f, 2*time.Second) {
		t.Error("with nodes that have nothing it is not over after its time")
	}

	f = New(timing, func() {})
	h := f.Meet(holding(p), true, start)
	if over(f, 9*time.Second) {
		t.Error("an answer is due, and it is over")
	}
	if !over(f, 10*time.Second) {
		t.Error("an answer that does not come holds it up")
	}
	h.Answer(p, after(3*time.Second))
	if !over(f, 3*time.Second) {
		t.Error("the answer came, and it is not over")
	}

	f = New(timing, func() {})
	h = f.Meet(holding(p), true, start)
	h.Leave(after(time.Second))
	if over(f, 5*time.Second) {
		t.Error("nobody is there, and it is over: who comes next would not be asked")
	}
	h = f.Meet(holding(p), true, after(6*time.Second))
	if !asked(h) || over(f, 7*time.Second) {
		t.Error("who came back was not asked")
	}
	h.Answer(p, after(7*time.Second))
	if s := f.Status(after(7 * time.Second)); !s.Over || s.Uniform != holding(p) {
		t.Errorf("all is told: %+v", s)
	}
}

// A node that comes again and again, each time with something else that it does not tell, is waited for no longer than once.
func TestADOPT5ANodeThatKeepsComingIsNotWaitedForAgainAndAgain(t *testing.T) {
	f := New(timing, func() {})
	f.Meet(wire.Marks{}, true, start)
	for i := range 11 {
		h := f.Meet(holding(told(t, 4+i)), true, after(time.Duration(i)*time.Second))
		if !asked(h) || f.Status(after(time.Duration(i)*time.Second)).Over {
			t.Fatalf("after %d s: asked %v, or over", i, asked(h))
		}
		h.Leave(after(time.Duration(i)*time.Second + 900*time.Millisecond))
	}
	f.Meet(holding(told(t, 20)), true, after(11*time.Second))
	if !f.Status(after(12 * time.Second)).Over {
		t.Error("it is waited on")
	}
}

// A late answer is known, for what the node keeps, and moves nobody.
func TestADOPT2WhatIsToldAfterTheEndIsNotAdopted(t *testing.T) {
	f, p, q := New(timing, func() {}), told(t, 4), told(t, 8)
	f.Meet(holding(p), true, start).Answer(p, start)
	a := f.Close()
	late := f.Meet(holding(q), true, after(time.Minute))
	late.Answer(q, after(time.Minute))
	if _, known := late.Holdings(); !known {
		t.Error("what a late node holds is not known")
	}
	if got := len(a.Table("web", 4).Slots); got != 4 {
		t.Errorf("a late node changed the length to %d", got)
	}
	if a.Generation != 4 {
		t.Errorf("the highest number is %d", a.Generation)
	}
}

// However many nodes are asked, and whatever they go on telling.
func TestADOPT6AnswersUnderWayAreBoundedTogether(t *testing.T) {
	f, p := New(timing, func() {}), told(t, 4)
	a, b := f.Meet(holding(p), true, start), f.Meet(holding(told(t, 8)), true, start)
	if !a.Keep(maxUnderWay) || b.Keep(1) {
		t.Fatal("all of it is not for one, or more than all of it is for two")
	}
	for what, ends := range map[string]func(){
		"dropped":  a.Drop,
		"complete": func() { a.Answer(p, start) },
		"gone":     func() { a.Leave(start) },
	} {
		a.Drop()
		if !a.Keep(maxUnderWay) {
			t.Fatalf("%s: there is no room before", what)
		}
		if ends(); !b.Keep(maxUnderWay) {
			t.Errorf("%s: it takes room still", what)
		}
		b.Drop()
	}
}
