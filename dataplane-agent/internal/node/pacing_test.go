package node

import (
	"testing"
	"time"
)

// A step is what happens to a pacing at a time, in milliseconds, and when the next reload may then be.
type step struct {
	at   int
	do   string
	took int
	next int
}

func TestNODE6_Pacing(t *testing.T) {
	for name, c := range map[string][]step{
		"at once when it was quiet": {{at: 0, do: "ended", next: 1000}, {at: 5000, do: "", next: 1000}},
		"spaced":                    {{at: 0, do: "ended", took: 100, next: 1000}, {at: 1000, do: "ended", took: 100, next: 2000}},
		"a long one is followed by a longer pause": {{at: 0, do: "ended", took: 3000, next: 6000}},
		"failures are further and further apart": {
			{at: 0, do: "failed", next: 1000}, {at: 1000, do: "failed", next: 3000}, {at: 3000, do: "failed", next: 7000}, {at: 7000, do: "failed", next: 15000},
			{at: 15000, do: "failed", next: 31000}, {at: 31000, do: "failed", next: 61000}, {at: 61000, do: "failed", next: 91000},
		},
		"a start that has not proved itself does not make up for failures": {
			{at: 0, do: "failed", next: 1000}, {at: 1000, do: "ended", next: 2000}, {at: 2000, do: "failed", next: 4000},
		},
		"a good one does": {
			{at: 0, do: "failed", next: 1000}, {at: 1000, do: "failed", next: 3000}, {at: 3000, do: "ended", next: 4000}, {at: 3000, do: "good", next: 4000},
			{at: 4000, do: "failed", next: 5000},
		},
		"it waits": {{at: 0, do: "wait", took: 500, next: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			p := pacing{spacing: time.Second}
			if !p.ready(begin) {
				t.Error("the first reload is not at once")
			}
			for i, s := range c {
				now, took := begin.Add(time.Duration(s.at)*time.Millisecond), time.Duration(s.took)*time.Millisecond
				switch s.do {
				case "ended":
					p.ended(now, took)
				case "failed":
					p.failed(now, slowest)
				case "good":
					p.good()
				case "wait":
					p.wait(now.Add(took))
				}
				next := begin.Add(time.Duration(s.next) * time.Millisecond)
				if p.ready(next.Add(-time.Millisecond)) || !p.ready(next) {
					t.Errorf("step %d: the next reload may be at %s, want %s", i, p.notBefore.Sub(begin), next.Sub(begin))
				}
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := backoff{}
	if !b.ready(now) {
		t.Error("the first try is not at once")
	}
	var delays []time.Duration
	for range 9 {
		delay := b.failed(now)
		if b.ready(now.Add(delay-1)) || !b.ready(now.Add(delay)) {
			t.Errorf("after a delay of %s the next try is at %s", delay, b.at)
		}
		delays = append(delays, delay)
	}
	if delays[0] != 50*time.Millisecond || delays[1] != 100*time.Millisecond || delays[8] != 5*time.Second {
		t.Errorf("delays %v", delays)
	}
	if b.reset(); !b.ready(now) || b.failed(now) != delays[0] {
		t.Error("a reset leaves something behind")
	}
}
