package guard

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// model is what a source has in truth, beside the store behind the guard.
type model struct {
	t     *rapid.T
	now   time.Time
	guard *Guard
	store *store.Store
	truth map[source.Key]source.Row
	began time.Time // when something was held first
	fresh int
}

// Whatever a source does: what it has is in the store as it is, what is in the store beyond that is exactly what is held; something is held only since a
// step that went too far, for a minute at most; and once nothing is held the store is what the source says.
func TestGUARDRandomSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, now: time.Unix(0, 0), store: store.New("home"), truth: map[source.Key]source.Row{}}
		m.guard = New(Config{Store: m.store, Compiler: everyService{m.store}, Log: zerolog.Nop(), Now: func() time.Time { return m.now }})
		m.step(site(0, rapid.IntRange(8, 30).Draw(t, "services")), nil, true)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				_, err := m.guard.Release("home")
				if held := len(m.extra()); held > 0 {
					t.Fatalf("%d objects are held after a release: %v", held, err)
				}
			case 1, 2:
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
				m.guard.expire()
			default:
				m.change()
			}
			m.check()
		}
		m.now = m.now.Add(Bound)
		m.guard.expire()
		if extra := m.extra(); len(extra) > 0 {
			t.Fatalf("held for ever: %v", extra)
		}
	})
}

// change makes a step of some services that vanish, some whose slice is replaced, changed or emptied, and some that come.
func (m *model) change() {
	var put []string
	var gone []source.Key
	vanish := rapid.IntRange(0, 3).Draw(m.t, "how many vanish")
	for _, k := range slices.SortedFunc(maps.Keys(m.truth), compareKeys) {
		if k.Kind != source.KindService {
			continue
		}
		slice := m.sliceOf(k)
		switch n := rapid.IntRange(0, 11).Draw(m.t, k.Name); {
		case n < 3*vanish:
			if n%3 != 1 {
				gone = append(gone, k)
			}
			if slice != (source.Key{}) && n%3 != 2 {
				gone = append(gone, slice)
			}
		case n == 9 && slice != (source.Key{}):
			m.fresh++
			gone, put = append(gone, slice), append(put, fmt.Sprintf("slice %s-%d %s 10.9.0.1", k.Name, m.fresh, k.Name))
		case n == 10 && slice != (source.Key{}):
			put = append(put, fmt.Sprintf("slice %s %s", slice.Name, k.Name))
		case n == 11 && slice == (source.Key{}):
			put = append(put, fmt.Sprintf("slice %s-a %s 10.9.0.2", k.Name, k.Name))
		}
	}
	for i := range 30 {
		if rapid.IntRange(0, 9).Draw(m.t, "comes") == 0 {
			put = append(put, fmt.Sprintf("service s%d", i))
		}
	}
	m.step(put, gone, rapid.IntRange(0, 4).Draw(m.t, "list") == 0)
}

func (m *model) sliceOf(service source.Key) source.Key {
	for k, r := range m.truth {
		if k.Kind == source.KindEndpointSlice && r.Object.GetLabels()["kubernetes.io/service-name"] == service.Name {
			return k
		}
	}
	return source.Key{}
}

// step delivers a change, be it as a list, and judges the guard by counting anew: a service is touched when it is gone, or its slice without another one.
func (m *model) step(put []string, gone []source.Key, full bool) {
	var changed []source.Row
	for _, r := range rows(put...) {
		if !slices.Contains(gone, r.Key) {
			changed = append(changed, r)
		}
	}
	before, held := m.services(), len(m.extra())
	touched := map[string]struct{}{}
	for _, k := range gone {
		name := k.Name
		if k.Kind == source.KindEndpointSlice {
			name = m.truth[k].Object.GetLabels()["kubernetes.io/service-name"]
			if slices.ContainsFunc(changed, func(r source.Row) bool { return r.Object.GetLabels()["kubernetes.io/service-name"] == name }) {
				continue
			}
		}
		if _, there := before[name]; there {
			touched[name] = struct{}{}
		}
	}
	for _, k := range gone {
		delete(m.truth, k)
	}
	for _, r := range changed {
		m.truth[r.Key] = r
	}
	b := source.Batch{Source: "home", Seen: m.now, Put: changed, Gone: gone}
	if full {
		b = source.Batch{Source: "home", Seen: m.now, Full: true, Put: slices.Collect(maps.Values(m.truth))}
	}
	m.guard.Deliver(b)
	far := len(touched) >= MinBackends && 2*len(touched) >= len(before)
	if now := len(m.extra()); now > 0 && held == 0 && !far || now == 0 && far {
		m.t.Fatalf("%d of %d services were touched, and %d objects are held; %d were before", len(touched), len(before), now, held)
	}
	if len(m.extra()) > 0 && held == 0 {
		m.began = m.now
	}
}

// services are those of the store, which are the fleet's backends, by name.
func (m *model) services() map[string]struct{} {
	names := map[string]struct{}{}
	for r := range m.store.Read().RowsOf("home") {
		if r.Kind == source.KindService {
			names[r.Name] = struct{}{}
		}
	}
	return names
}

// extra is what the store has and the source has not.
func (m *model) extra() []source.Key {
	var list []source.Key
	for r := range m.store.Read().RowsOf("home") {
		if _, there := m.truth[r.Key]; !there {
			list = append(list, r.Key)
		}
	}
	return list
}

func (m *model) check() {
	read := m.store.Read()
	for k, r := range m.truth {
		if old := read.Object(k); old == nil || !equality.Semantic.DeepEqual(old, r.Object) {
			m.t.Fatalf("GUARD-2: the source has %s, the store has %v", k, old)
		}
	}
	extra := m.extra()
	held, _ := m.guard.Held("home")
	if held.Objects != len(extra) {
		m.t.Fatalf("%d objects are held, the store has %v that the source has not", held.Objects, extra)
	}
	if len(extra) > 0 && (!m.now.Before(m.began.Add(Bound)) || held.Until.After(m.began.Add(Bound))) {
		m.t.Fatalf("GUARD-3: held since %s until %s, now is %s", m.began, held.Until, m.now)
	}
}
