package dir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

func sliceText(n, address int) string {
	return fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-%05d-x
  namespace: shop
  labels: {kubernetes.io/service-name: web-%05d}
addressType: IPv4
ports:
- {name: "", port: 8080, protocol: TCP}
endpoints:
- addresses: ["10.0.%d.%d"]
  conditions: {ready: true, serving: true, terminating: false}
  targetRef: {kind: Pod, namespace: shop, name: web-%05d-abcde}
`, n, n, address/256%256, address%256, n)
}

// filled is a reader that has listed n files with a slice each, a hundred in a directory.
func filled(tb testing.TB, n int) (r *reader, root string, path func(int) string) {
	root = tb.TempDir()
	path = func(i int) string {
		return filepath.Join(root, fmt.Sprintf("d%03d", i/100), fmt.Sprintf("web-%05d.yaml", i))
	}
	for i := range n {
		if i%100 == 0 {
			if err := os.Mkdir(filepath.Dir(path(i)), 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		if err := os.WriteFile(path(i), []byte(sliceText(i, i)), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	r = newReader("test", root, time.Hour, func(string) {})
	b, _ := r.pass(time.Now().Add(Rest))
	if b == nil || !b.Full || len(b.Put) != n {
		tb.Fatalf("the first list is %+v", b)
	}
	return r, root, path
}

// change gives one file another address and has the reader deliver that.
func change(tb testing.TB, r *reader, path string, n, address int) {
	if err := put(path, sliceText(n, address)); err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	r.at(path, happening{seen: now, placed: true})
	b, walked := r.pass(now)
	if b == nil || walked != nil || len(b.Put) != 1 || len(b.Gone)+len(b.Reports) != 0 {
		tb.Fatalf("one slice changed; delivered was %+v, a walk %t", b, walked != nil)
	}
}

// DIR-5 with figures: one slice file changes among ten and among ten thousand. Writing the file is part of both.
func BenchmarkOneFileChanges(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, _, path := filled(b, n)
			b.ReportAllocs()
			address := n
			for b.Loop() {
				address++
				change(b, r, path(n/2), n/2, address)
			}
		})
	}
}

// DIR-5 as a bound: what one change allocates does not depend on how many files there are.
func TestOneFileCostsTheSameAmongMany(t *testing.T) {
	allocations := func(n int) float64 {
		r, _, path := filled(t, n)
		address := n
		return testing.AllocsPerRun(50, func() {
			address++
			change(t, r, path(n/2), n/2, address)
		})
	}
	few, many := allocations(10), allocations(2000)
	t.Logf("allocations: %.0f among 10, %.0f among 2000", few, many)
	if many > few*1.1 {
		t.Errorf("one change allocates %.0f times among 10 files and %.0f times among 2000", few, many)
	}
}

// BenchmarkFirstList reads ten thousand files.
func BenchmarkFirstList(b *testing.B) {
	_, root, _ := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load("test", root); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk finds that none of ten thousand files has changed.
func BenchmarkWalk(b *testing.B) {
	r, _, _ := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		now := time.Now()
		r.walkAt = now
		if batch, _ := r.pass(now); batch != nil {
			b.Fatalf("nothing changed, but: %+v", batch)
		}
	}
}

// BenchmarkDelivered is from before a file is written beside its place and renamed there until its batch is delivered, fsnotify
// included: a renamed file waits for nothing.
func BenchmarkDelivered(b *testing.B) {
	root := b.TempDir()
	arrived := make(chan source.Batch, 1)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		done <- New("test", root, zerolog.Nop()).Run(ctx, sinkFunc(func(batch source.Batch) { arrived <- batch }))
	}()
	<-arrived
	n := 0
	for b.Loop() {
		n++
		if err := put(filepath.Join(root, "web.yaml"), sliceText(0, n)); err != nil {
			b.Fatal(err)
		}
		<-arrived
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

type sinkFunc func(source.Batch)

func (f sinkFunc) Deliver(b source.Batch) { f(b) }
