package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/berth-proxy/berth/api/casetest"
	"github.com/berth-proxy/berth/tests/cluster/manifest"
	"github.com/berth-proxy/berth/tests/e2e/rig"
	"github.com/berth-proxy/berth/tests/harness"
	"github.com/berth-proxy/berth/tests/harness/haproxy"
	"github.com/berth-proxy/berth/tests/pod"
)

// A caseStep is a step of a case, with checks against the running product.
type caseStep casetest.Step

// checkObjects checks what a document says of objects and sources.
func (s caseStep) checkObjects(d rig.Document) error {
	names := func(objects []rig.Object) []string {
		out := []string{}
		for _, o := range objects {
			out = append(out, o.Object)
		}
		return out
	}
	faulty := slices.ContainsFunc(d.Sources, func(s struct{ Name, Error string }) bool { return s.Error != "" })
	switch {
	case faulty != s.Expect.SourceError:
		return fmt.Errorf("the sources are %v, want an error: %v", d.Sources, s.Expect.SourceError)
	case !slices.Equal(names(d.Rejected), append([]string{}, s.Expect.Rejected...)):
		return fmt.Errorf("rejected are %v, want %v", d.Rejected, s.Expect.Rejected)
	case !slices.Equal(names(d.Warned), append([]string{}, s.Expect.Warned...)):
		return fmt.Errorf("warned are %v, want %v", d.Warned, s.Expect.Warned)
	}
	for _, o := range append(d.Rejected, d.Warned...) {
		if o.Reason == "" {
			return fmt.Errorf("%s is named without a reason", o.Object)
		}
	}
	return nil
}

// A place is the slot of an endpoint, as somebody says: the plane or a worker.
type place struct {
	slot  string
	state string
}

// checkSlots checks the slots of a service: all that are not named are free.
func (s caseStep) checkSlots(service string, now map[string]place) error {
	want := map[string]string{}
	for _, a := range s.Expect.Backends[service].Ready {
		want[a] = "ready"
	}
	for _, a := range s.Expect.Backends[service].Drain {
		want[a] = "drain"
	}
	for address, state := range want {
		if now[address].state != state {
			return fmt.Errorf("%s: %s is %q, want %s; slots: %v", service, address, now[address].state, state, now)
		}
	}
	if len(now) != len(want) {
		return fmt.Errorf("%s: taken slots %v, want %v", service, now, want)
	}
	return nil
}

// checkMoves checks who keeps a slot and who must not take one.
func (s caseStep) checkMoves(before, now map[string]place) error {
	for _, a := range s.Expect.SameSlots {
		if before[a].slot != now[a].slot || now[a].slot == "" {
			return fmt.Errorf("%s went from slot %q to %q", a, before[a].slot, now[a].slot)
		}
	}
	for newcomer, gone := range s.Expect.OtherSlot {
		if now[newcomer].slot == before[gone].slot || before[gone].slot == "" {
			return fmt.Errorf("%s took slot %q, which was that of %s", newcomer, now[newcomer].slot, gone)
		}
	}
	return nil
}

// places are the taken slots of a document's backend.
func places(b *rig.Backend) map[string]place {
	taken := map[string]place{}
	for _, s := range b.Slots {
		if s.State != "free" {
			taken[s.AddrPort().String()] = place{fmt.Sprint(s.Slot), s.State}
		}
	}
	return taken
}

// 6. Every case, offline: berthctl render of the directory, with --previous for what compares with the step before, and berthctl explain for the requests.
func TestCasesOffline(t *testing.T) {
	casetest.Each(t, "..", func(t *testing.T, c casetest.Case) {
		dir, previous := manifest.Dir(t.TempDir()), filepath.Join(t.TempDir(), "previous.json")
		var before rig.Document
		for i, step := range c.Steps {
			if err := dir.Write("objects.yaml", step.Text); err != nil {
				t.Fatal(err)
			}
			args := []string{"render", "-f", string(dir), "-o", "json"}
			if i > 0 {
				args = append(args, "--previous", previous)
			}
			out, errs, code := harness.Ctl(t, args...)
			now, err := rig.ParseDocument(out)
			if err != nil {
				t.Fatalf("step %d: berthctl %v: exit code %d, %v: %s", i+1, args, code, err, errs)
			}
			if step.Expect.SourceError {
				// What a source that runs has kept is shown live. Offline its fault is told, beside what could be read.
				if code != 1 || !slices.ContainsFunc(now.Sources, func(s struct{ Name, Error string }) bool { return s.Error != "" }) {
					t.Errorf("step %d: exit code %d, sources %v; want 1 and an error", i+1, code, now.Sources)
				}
				continue
			}
			if code != 0 {
				t.Errorf("step %d: exit code %d: %s", i+1, code, errs)
			}
			if err := checkOffline(t, caseStep(step), before, now, string(dir)); err != nil {
				t.Errorf("step %d: %v", i+1, err)
			}
			before = now
			if err := os.WriteFile(previous, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func checkOffline(t *testing.T, step caseStep, before, now rig.Document, dir string) error {
	t.Helper()
	errs := []error{step.checkObjects(now)}
	for service := range step.Expect.Backends {
		b := now.Backend(service)
		if b == nil {
			return fmt.Errorf("there is no backend for %s", service)
		}
		errs = append(errs, step.checkSlots(service, places(b)))
		if old := before.Backend(service); old != nil {
			errs = append(errs, step.checkMoves(places(old), places(b)))
		}
	}
	if step.Expect.Revision == "unchanged" && now.Revision != before.Revision {
		errs = append(errs, fmt.Errorf("the revision went from %s to %s", before.Revision, now.Revision))
	}
	for _, req := range step.Expect.Requests {
		out, complaint, code := harness.Ctl(t, "explain", req.URL, "-f", dir, "-o", "json")
		var x struct {
			Service string
			Status  int
		}
		if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 {
			errs = append(errs, fmt.Errorf("explain %s: exit code %d, %w: %s", req.URL, code, err, complaint))
			continue
		}
		if x.Status != req.Status || req.Backend != "" && x.Service != req.Backend {
			errs = append(errs, fmt.Errorf("explain %s: %s %d, want %s %d", req.URL, x.Service, x.Status, req.Backend, req.Status))
		}
	}
	return errors.Join(errs...)
}

// 6. Every case live, in a network namespace where all of its addresses are local and have a pod: a plane, an agent with each HAProxy, and what must hold asked of the workers
// themselves and by requests through them.
func TestCasesLive(t *testing.T) {
	if !inNetns(t) {
		return
	}
	casetest.Each(t, "..", func(t *testing.T, c casetest.Case) {
		r := rig.New(t, rig.Options{Fleets: []rig.Fleet{
			{Name: "default", HAProxy: harness.OldHAProxy(t)}, {Name: "default", HAProxy: harness.NewHAProxy(t)},
		}})
		live := &liveCase{t: t, r: r, pods: map[netip.AddrPort]bool{}, before: map[string]map[string]place{}}
		for i, step := range c.Steps {
			text := step.Text
			live.startPods(text)
			r.Must(r.Write("objects.yaml", text))
			live.play(i+1, caseStep(step))
		}
	})
}

type liveCase struct {
	t    *testing.T
	r    *rig.Rig
	pods map[netip.AddrPort]bool

	// The step before: the plane's revision, the workers, and each node's taken slots by service.
	revision string
	workers  map[string]haproxy.Identity
	before   map[string]map[string]place
}

// startPods starts a pod for each endpoint of the slices in a file that has none yet. A document that cannot be read has none.
func (l *liveCase) startPods(text []byte) {
	l.t.Helper()
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var s manifest.EndpointSlice
		if yaml.Unmarshal(doc, &s) != nil || s.Kind != "EndpointSlice" {
			continue
		}
		service := s.Metadata.Namespace + "/" + s.Metadata.Labels["kubernetes.io/service-name"]
		for _, e := range s.Endpoints {
			for _, port := range s.Ports {
				address, err := netip.ParseAddr(e.Addresses[0])
				at := netip.AddrPortFrom(address, uint16(port.Port))
				if err != nil || port.Protocol == "UDP" || l.pods[at] {
					continue
				}
				l.pods[at] = true
				p, err := pod.Start(pod.Config{Name: at.String(), Service: service, Address: at})
				l.r.Must(err)
				l.t.Cleanup(func() { l.r.Must(p.Kill()) })
			}
		}
	}
}

// play waits until what the step expects holds on every node, then checks what must not have happened on the way.
func (l *liveCase) play(number int, step caseStep) {
	l.t.Helper()
	var now rig.Document
	taken := map[string]map[string]place{}
	harness.WaitForNil(l.t, 15*time.Second, fmt.Sprintf("step %d", number), func() (err error) {
		if now, err = l.r.Wanted("default"); err != nil {
			return err
		}
		errs := []error{step.checkObjects(now)}
		for _, n := range l.r.Nodes {
			errs = append(errs, l.onNode(n, step, now, taken))
		}
		return errors.Join(errs...)
	})
	l.r.WaitCurrent()
	for _, n := range l.r.Nodes {
		for service := range step.Expect.Backends {
			key := n.Node + " " + service
			if err := step.checkMoves(l.before[key], taken[key]); err != nil {
				l.t.Errorf("step %d: %s: %v", number, n.Label(), err)
			}
		}
	}
	if step.Expect.Revision == "unchanged" {
		if now.Revision != l.revision {
			l.t.Errorf("step %d: the revision went from %s to %s", number, l.revision, now.Revision)
		}
		l.r.CheckSameWorkers(l.workers)
	}
	l.commands(number, step, now)
	l.revision, l.workers, l.before = now.Revision, l.r.Workers(), taken
}

// onNode checks a worker's own answer, and what requests through it get.
func (l *liveCase) onNode(n *rig.Node, step caseStep, now rig.Document, taken map[string]map[string]place) error {
	for service := range step.Expect.Backends {
		b := now.Backend(service)
		if b == nil {
			return fmt.Errorf("there is no backend for %s", service)
		}
		servers, err := haproxy.Servers(n.WorkerSocket(), b.Name)
		if err != nil {
			return err
		}
		has := map[string]place{}
		for _, s := range servers {
			if s.State != haproxy.Maint {
				has[s.Address.String()] = place{s.Name, string(s.State)}
			} else if s.Address.Addr() != haproxy.Placeholder {
				return fmt.Errorf("%s: the free slot is %s", n.Label(), s)
			}
		}
		if err := step.checkSlots(service, has); err != nil {
			return fmt.Errorf("%s: %w", n.Label(), err)
		}
		taken[n.Node+" "+service] = has
	}
	for _, req := range step.Expect.Requests {
		u, err := url.Parse(req.URL)
		if err != nil {
			return err
		}
		got, err := n.Get(u.Host, u.Path)
		if err != nil {
			return err
		}
		service, _, _ := cutLast(req.Backend, ":")
		want := rig.Answer{Status: req.Status, Service: service}
		if req.Backend != "" {
			want.Status = 200
		}
		if got.Status != want.Status || got.Service != want.Service {
			return fmt.Errorf("%s: %s gets %+v, want %+v", n.Label(), req.URL, got, want)
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// commands checks that people see it too: berthctl says the same of objects and sources, explains the requests so, and finds no difference on any node.
func (l *liveCase) commands(number int, step caseStep, now rig.Document) {
	l.t.Helper()
	status, errs, code := l.r.Plane.Ctl(l.t, "status")
	if faulty := step.Expect.SourceError; faulty != (code == 1) || code > 1 || faulty && !strings.Contains(status, "objects") {
		l.t.Errorf("step %d: berthctl status: exit code %d: %s\n%s", number, code, errs, status)
	}
	for _, o := range append(now.Rejected, now.Warned...) {
		if !strings.Contains(status, o.Object) {
			l.t.Errorf("step %d: berthctl status does not name %s:\n%s", number, o.Object, status)
		}
	}
	for _, n := range l.r.Nodes {
		if out, errs, code := l.r.Plane.Ctl(l.t, "diff", n.Node); code != 0 {
			l.t.Errorf("step %d: berthctl diff %s: exit code %d: %s%s", number, n.Node, code, out, errs)
		}
	}
	for _, req := range step.Expect.Requests {
		out, errs, code := l.r.Plane.Ctl(l.t, "explain", req.URL, "-o", "json")
		var x struct {
			Service string
			Status  int
		}
		if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 {
			l.t.Errorf("step %d: berthctl explain %s: exit code %d, %v: %s", number, req.URL, code, err, errs)
		} else if x.Status != req.Status || req.Backend != "" && x.Service != req.Backend {
			l.t.Errorf("step %d: berthctl explain %s: %+v, want %s %d", number, req.URL, x, req.Backend, req.Status)
		}
	}
}
