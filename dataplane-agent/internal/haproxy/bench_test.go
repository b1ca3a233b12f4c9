package haproxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The numbers of docs/haproxy-facts.md come from here: go test -run '^$' -bench . -benchtime 20x. Times are for comparing with each other.

func eachBench(b *testing.B, more string, f func(b *testing.B, m *machine, id Identity)) {
	for _, v := range versions(b) {
		b.Run(v.name, func(b *testing.B) {
			m := newMachine(b, v)
			m.configure(more)
			_, id := m.start()
			m.settle()
			b.ResetTimer()
			f(b, m, id)
		})
	}
}

// BenchmarkReload tells how long a reload takes until the new worker is seen, and how long it has then been answering requests already: the time
// in which a slot that has changed meanwhile is wrong.
func BenchmarkReload(b *testing.B) {
	for _, backends := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%dx10", backends), func(b *testing.B) {
			var more strings.Builder
			for i := range backends {
				fmt.Fprintf(&more, "backend x%d from dd\n", i)
				for s := range 10 {
					fmt.Fprintf(&more, " server s%d 192.0.2.1:1 disabled\n", s+1)
				}
			}
			eachBench(b, more.String(), func(b *testing.B, m *machine, id Identity) {
				var gap time.Duration
				for range b.N {
					first := firstAnswer(m, id)
					next, err := Reload(within(b, 20*time.Second), m.master(), m.worker(), id)
					seen := time.Now()
					if err != nil {
						b.Fatal(err)
					}
					if at := first(); seen.After(at) {
						gap += seen.Sub(at)
					}
					id = next
				}
				b.ReportMetric(float64(gap.Microseconds())/float64(b.N)/1000, "ms-late/op")
			})
		})
	}
}

// firstAnswer asks all the time until a request is answered by another worker than this one. What it returns waits for that and says when it was.
func firstAnswer(m *machine, id Identity) func() time.Time {
	var at time.Time
	var done sync.WaitGroup
	ctx := within(m.t, 20*time.Second)
	done.Go(func() {
		for pid := 0; pid == 0 || pid == id.PID; pid = m.pid() {
			if pause(ctx, 200*time.Microsecond) != nil {
				return
			}
		}
		at = time.Now()
	})
	return func() time.Time {
		done.Wait()
		return at
	}
}

// BenchmarkSetServer writes 1,000 commands at once.
func BenchmarkSetServer(b *testing.B) {
	eachBench(b, "", func(b *testing.B, m *machine, _ Identity) {
		r := m.dial()
		lines := make([]string, 1000)
		for n := range b.N {
			for i := range lines {
				lines[i] = fmt.Sprintf("set server b/s1 addr 127.0.%d.%d port %d", n%200, i%250+1, 1000+i)
			}
			if replies, err := r.Do(within(b, 20*time.Second), lines); err != nil || replies[999].Err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkVisible tells how long after its answer a change of address is visible, and of how many the first reading still has the old one.
func BenchmarkVisible(b *testing.B) {
	eachBench(b, "", func(b *testing.B, m *machine, _ Identity) {
		r := m.dial()
		var delays []time.Duration
		stale, sameWrite := 0, 0
		for n := range b.N * 100 {
			port := uint16(1000 + n%30000)
			if _, err := r.Do(context.Background(), []string{fmt.Sprintf("set server b/s1 addr 127.0.0.%d port %d", n%250+1, port)}); err != nil {
				b.Fatal(err)
			}
			answered := time.Now()
			for reads := 0; ; reads++ {
				servers, err := r.ServersState(context.Background(), "b")
				if err != nil {
					b.Fatal(err)
				}
				if servers[0].Port == port {
					delays = append(delays, time.Since(answered))
					break
				}
				if reads == 0 {
					stale++
				}
			}
			replies, err := r.Do(context.Background(), []string{fmt.Sprintf("set server b/s1 addr 127.0.0.1 port %d", port+1), "show servers state b"})
			if err != nil {
				b.Fatal(err)
			}
			if servers, err := ParseServersState(replies[1].Text); err != nil || servers[0].Port != port+1 {
				sameWrite++
			}
		}
		slices.Sort(delays)
		b.ReportMetric(100*float64(stale)/float64(len(delays)), "%stale")
		b.ReportMetric(100*float64(sameWrite)/float64(len(delays)), "%stale-in-one-write")
		b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "ms-median")
		b.ReportMetric(float64(delays[len(delays)-1].Microseconds())/1000, "ms-most")
	})
}

// BenchmarkReplaceMap replaces 10,000 entries, by a line for each and by payloads.
func BenchmarkReplaceMap(b *testing.B) {
	entries := make([]MapEntry, 10000)
	for i := range entries {
		entries[i] = MapEntry{fmt.Sprintf("host%d.example.com/path%d", i%100, i), fmt.Sprintf("backend_%d", i)}
	}
	eachBench(b, "", func(b *testing.B, m *machine, _ Identity) {
		r, file := m.dial(), m.path("m.map")
		b.Run("lines", func(b *testing.B) {
			for range b.N {
				if err := r.ReplaceMap(within(b, 20*time.Second), file, entries); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("payloads", func(b *testing.B) {
			for range b.N {
				replies, err := r.Do(within(b, 20*time.Second), []string{"prepare map " + file})
				if err != nil {
					b.Fatal(err)
				}
				at := strings.TrimSpace(strings.TrimPrefix(replies[0].Text, "New version created: "))
				c := Command{Line: "add map @" + at + " " + file}
				var commands []Command
				for _, e := range entries {
					line := e.Key + " " + e.Value
					if c.Size()+len(line)+10 > MaxPayload {
						commands = append(commands, c)
						c.Payload = nil
					}
					c.Payload = append(c.Payload, line)
				}
				commands = append(commands, c, Command{Line: "commit map @" + at + " " + file})
				replies, err = r.DoCommands(within(b, 20*time.Second), commands)
				if err != nil || replies[len(replies)-1].Err != nil || replies[0].Err != nil {
					b.Fatal(replies, err)
				}
			}
		})
	})
}

// BenchmarkReadServers reads 10,000 servers.
func BenchmarkReadServers(b *testing.B) {
	var more strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&more, "backend x%d from dd\n", i)
		for s := range 10 {
			fmt.Fprintf(&more, " server s%d 192.0.2.1:1 disabled\n", s+1)
		}
	}
	eachBench(b, more.String(), func(b *testing.B, m *machine, _ Identity) {
		r := m.dial()
		for range b.N {
			if servers, err := r.ServersState(within(b, 20*time.Second), ""); err != nil || len(servers) < 10000 {
				b.Fatal(err)
			}
		}
	})
}
