package changelog

import (
	"fmt"
	"sync"
	"testing"
)

// LOG-6: readers of any pace, each jumping from what it holds to the newest, all end at the head, and never at something older than before.
func TestLOG6ReadersEndAtTheHead(t *testing.T) {
	const publications, readers = 300, 16
	l := New(Limits{Steps: 40})
	var wg sync.WaitGroup
	for n := range readers {
		wg.Go(func() { follow(t, l, publications, n) })
	}
	for i := range publications {
		if i%50 == 49 {
			l.RaiseEpoch(uint64(i))
		}
		l.Publish(backendDelta("a", fmt.Sprint(i/10)), slotDelta("a", 8, i%8, slot(i)), at(i), at(i))
	}
	wg.Wait()
}

// follow reads until the last publication, and skips heads so that readers have different paces.
func follow(t *testing.T, l *Log, last, skip int) {
	held := nothing()
	for {
		head := l.Head()
		for range skip {
			if head.Generation.Version.Number == uint64(last) {
				break
			}
			<-head.Superseded()
			head = l.Head()
		}
		head, shared, known, err := l.Since(held.marks(), true)
		if err != nil {
			t.Error(err)
			return
		}
		if !known {
			if shared, err = head.Everything(true); err != nil {
				t.Error(err)
				return
			}
		}
		if shared != nil {
			before := held
			if held.rev, held.gen, err = decode(t, shared).Apply(held.rev, held.gen); err != nil {
				t.Errorf("reader %d: %v", skip, err)
				return
			}
			if held.gen.Version.Compare(before.gen.Version) < 0 || held.rev.Version.Compare(before.rev.Version) < 0 {
				t.Errorf("reader %d went from %+v back to %+v", skip, before.marks(), held.marks())
				return
			}
		}
		if head.Generation.Version.Number == uint64(last) {
			if !held.marks().Same(head.Marks()) {
				t.Errorf("reader %d ended at %+v, the head is %+v", skip, held.marks(), head.Marks())
			}
			return
		}
		select {
		case <-head.Superseded():
		case <-t.Context().Done():
			t.Errorf("reader %d was not woken after %v", skip, head.Generation.Version)
			return
		}
	}
}
