package stream

import "time"

// Timing is how long things may take. A zero field stands for its default.
type Timing struct {
	// Hello is how long a node has for its first message: 10 s.
	Hello time.Duration
	// Heartbeat is after how long without a message the plane sends one: 5 s.
	Heartbeat time.Duration
	// Silence is after how long without a message of the node its stream ends: 20 s.
	Silence time.Duration
	// Progress is after how long without an answer, or without a message having left, a stream ends: 60 s.
	Progress time.Duration
	// RetryMin and RetryMax bound the waits before an update is sent again to a node that could not take it: 1 s and 30 s.
	RetryMin, RetryMax time.Duration
	// WaitHint is what a node that is refused for now is told to wait: 5 s.
	WaitHint time.Duration
}

func (t Timing) withDefaults() Timing {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Hello, 10 * time.Second},
		{&t.Heartbeat, 5 * time.Second},
		{&t.Silence, 20 * time.Second},
		{&t.Progress, time.Minute},
		{&t.RetryMin, time.Second},
		{&t.RetryMax, 30 * time.Second},
		{&t.WaitHint, 5 * time.Second},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return t
}
