package dir

import (
	"testing"
	"time"
)

// ms is a moment of a clock that only this test has.
func ms(n int) time.Time { return time.Unix(1000, 0).Add(time.Duration(n) * time.Millisecond) }

func seen(size int64, modified int) sight {
	return sight{there: true, ident: ident{size: size, modified: ms(modified).UnixNano()}}
}

// DIR-1: each story is a row of looks at one file; the last of them finds it ready, the others say when to look again.
func TestSettle(t *testing.T) {
	type look struct {
		at    int
		look  sight
		again int // when to look again, or the time of the look when ready
	}
	future := seen(1, 5000)
	tests := []struct {
		name  string
		mark  mark
		looks []look
	}{
		{"written long ago", mark{}, []look{{0, seen(1, -100), 0}}},
		{"written just now", mark{}, []look{{0, seen(1, -5), 15}, {15, seen(1, -5), 15}}},
		{"still growing", mark{}, []look{{0, seen(1, 0), 20}, {20, seen(2, 19), 39}, {39, seen(2, 19), 39}}},
		{"renamed into place", mark{placed: true}, []look{{0, seen(1, 0), 0}}},
		{"gone", mark{}, []look{{0, sight{}, 100}, {100, sight{}, 100}}},
		{"gone with a swap", mark{together: true}, []look{{0, sight{}, 20}, {20, sight{}, 20}}},
		{"gone, looked at early", mark{}, []look{{0, sight{}, 100}, {7, sight{}, 100}, {105, sight{}, 105}}},
		{"gone and back", mark{}, []look{{0, sight{}, 100}, {10, seen(1, 9), 29}, {29, seen(1, 9), 29}}},
		{"placed and gone", mark{placed: true}, []look{{0, sight{}, 100}, {100, sight{}, 100}}},
		{"cannot be looked at", mark{}, []look{{0, sight{there: true, fault: "x"}, 20}, {20, sight{there: true, fault: "x"}, 20}}},
		{"written in the future", mark{}, []look{{0, future, 20}, {20, future, 20}}},
		{"its time set back", mark{}, []look{{0, seen(1, 0), 20}, {10, seen(1, -100), 10}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, l := range tt.looks {
				ready, again := tt.mark.settle(l.look, ms(l.at))
				if last := i == len(tt.looks)-1; ready != last || !last && !again.Equal(ms(l.again)) {
					t.Fatalf("look %d is ready %t and again after %v, want %t and %d ms", i, ready, again.Sub(ms(0)), last, l.again)
				}
			}
		})
	}
}
