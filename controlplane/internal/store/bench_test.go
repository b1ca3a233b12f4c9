package store

import (
	"fmt"
	"testing"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// STORE-6: one slice changes among ten and among ten thousand.
func BenchmarkApplyOne(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := New("a")
			list := source.Batch{Source: "a", Full: true}
			for i := range n {
				list.Put = append(list.Put, source.NewRow("a", slice(fmt.Sprintf("web-%05d", i), fmt.Sprintf("svc-%05d", i))))
			}
			s.Apply(list)
			s.take()
			name, service := fmt.Sprintf("web-%05d", n/2), fmt.Sprintf("svc-%05d", n/2)
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(put("a", 1, slice(name, service)))
				if changes, _, _ := s.take(); len(changes.Objects) != 1 {
					b.Fatalf("one slice changed, the consumer is given %d", len(changes.Objects))
				}
			}
		})
	}
}
