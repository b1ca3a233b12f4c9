package compile

import (
	"fmt"
	"sync"
	"testing"
)

// Under the race detector: readers of all kinds while changes are compiled.
func TestReadersWhileCompiling(t *testing.T) {
	r := newRig(t)
	r.put("", service("web", "10.0.0.1")+ingress("i", "", "", "x.example.com / web"))
	gen := r.kept["default"].generation
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, fleet := range r.c.Fleets() {
					r.c.Problems(fleet)
					r.c.Routes(fleet)
					r.c.Backends(fleet)
					r.c.Backend(fleet, "shop/web:http")
				}
				if _, err := r.c.Explain("default", "http://x.example.com/", gen); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 100 {
		r.put("", service("web", fmt.Sprintf("10.0.0.%d", i+1))+ingress("j", "", "", fmt.Sprintf("h%d.example.com /a%d web", i%7, i)))
		r.c.Release("default", []string{"nobody"})
	}
	close(done)
	readers.Wait()
}
