package haproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// The states of servers are read as they are: what the configuration says and what is set at run time.
func TestServersState(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		placeholder, local := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")
		eventually(t, "the check of s5 has failed", func() bool { s := server(t, r, "s5"); return s.Check == CheckFailed && !s.Up })
		got, err := r.ServersState(within(t, 5*time.Second), "b")
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Check = CheckUnknown // versions differ on servers without one
		}
		want := []Server{
			{Backend: "b", Name: "s1", ID: 1, Addr: placeholder, Port: 1, Weight: 1, Maint: true},
			{Backend: "b", Name: "s2", ID: 2, Addr: local, Port: 19001, Weight: 0, Up: true, Op: OpRunning},
			{Backend: "b", Name: "s3", ID: 3, Addr: local, Port: 19002, Weight: 1, Up: true, Op: OpRunning},
			{Backend: "b", Name: "s4", ID: 4, Addr: placeholder, Port: 1, Weight: 1, Maint: true},
			{Backend: "b", Name: "s5", ID: 5, Addr: local, Port: 19003, Weight: 1},
			{Backend: "b", Name: "u1", ID: 6, Weight: 1, Up: true, Op: OpRunning},
			{Backend: "b", Name: "h1", ID: 7, Port: 80, Weight: 1, Maint: true},
			{Backend: "b", Name: "v6", ID: 8, Addr: netip.IPv6Loopback(), Port: 19004, Weight: 1, Up: true, Op: OpRunning},
		}
		if !slices.Equal(got, want) {
			t.Errorf("servers:\n%+v\nwant\n%+v", got, want)
		}
		must(t, r, "set server b/s1 addr 127.0.0.9 port 8080", "set server b/s1 weight 50", "set server b/s1 state ready", "set server b/s3 state drain",
			"set server b/s3 weight 7", "set server b/s2 state maint", "set server b/s4 state ready", "set server b/s4 state drain")
		for name, want := range map[string]Server{
			"s1": {Backend: "b", Name: "s1", ID: 1, Addr: netip.MustParseAddr("127.0.0.9"), Port: 8080, Weight: 50, Up: true, Op: OpRunning},
			"s2": {Backend: "b", Name: "s2", ID: 2, Addr: local, Port: 19001, Weight: 0, Maint: true},
			"s3": {Backend: "b", Name: "s3", ID: 3, Addr: local, Port: 19002, Weight: 7, Drain: true, Up: true, Op: OpRunning},
			"s4": {Backend: "b", Name: "s4", ID: 4, Addr: placeholder, Port: 1, Weight: 1, Drain: true, Up: true, Op: OpRunning},
		} {
			var got Server
			eventually(t, "server "+name+" is as it was set", func() bool {
				got = server(t, r, name)
				got.Check = CheckUnknown
				return got == want
			})
		}
		answers, err := r.ServersStates(within(t, 5*time.Second), []string{"nowhere", "b", "probe"})
		if err != nil || !errors.Is(answers[0].Err, ErrNoSuchBackend) || len(answers[1].Servers) != len(want) || len(answers[2].Servers) != 0 || answers[2].Err != nil {
			t.Errorf("ServersStates = %+v, %v", answers, err)
		}
		if all, err := r.ServersState(within(t, 5*time.Second), ""); err != nil || len(all) != len(want) {
			t.Errorf("all servers: %d, %v", len(all), err)
		}
	})
}

func TestInfo(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		began := time.Now().Truncate(time.Second)
		_, id := m.start()
		full, err := Version(within(t, 5*time.Second), v.binary)
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.dial().Info(within(t, 5*time.Second))
		if err != nil || info.PID != id.PID || info.Stopping || info.Version != full.Full || info.Description != "of-a-test" || info.MaxConn <= 0 {
			t.Errorf("Info = %+v, %v", info, err)
		}
		if info.Started.Before(began) || info.Started.After(time.Now()) || info.Uptime > time.Minute {
			t.Errorf("started %v, up %v; want since %v", info.Started, info.Uptime, began)
		}
	})
}

// A worker that is leaving says so to whom is still connected, and takes changes of maps as if nothing were: so Info is asked after a reload.
func TestALeavingWorker(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		_, id := m.start()
		r := m.dial()
		must(t, r, "set server b/s1 weight 3")
		next, err := Reload(within(t, 10*time.Second), m.master(), m.worker(), id)
		if err != nil {
			t.Fatal(err)
		}
		info, err := r.Info(within(t, time.Second))
		if err != nil || info.PID != id.PID || !info.Stopping {
			t.Errorf("Info = %+v, %v", info, err)
		}
		for i, reply := range do(t, r, "set server b/s1 addr 127.0.0.1 port 1", "set server b/s1 state ready", "set server b/s1 weight 3", "enable health b/s4") {
			if !errors.Is(reply.Err, ErrStopping) {
				t.Errorf("command %d: %v", i, reply.Err)
			}
		}
		if reply := do(t, r, "set map "+m.path("m.map")+" /a c")[0]; reply.Err != nil {
			t.Logf("a leaving worker refuses a map's change, which is well: %v", reply.Err)
		}
		m.settle()
		if s, err := Look(within(t, time.Second), m.master(), next); err != nil || !s.Current || s.OldWorkers != 1 {
			t.Errorf("Look = %+v, %v", s, err)
		}
		_ = r.Close()
		eventually(t, "the worker ends with its last connection", func() bool { return !id.Alive() })
	})
}

// HAProxy reads as one word what Word has made of it, and a payload as it is. What is written can be read back.
func TestWordsAndPayloads(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		file := m.path("m.map")
		values := []string{"plain", "with space", "semi;colon", `back\slash`, `trail\`, "tab\there", `"quoted"`, "'single'", "#hash", "<<", "<<END", "x<<", "> prompt", "$var", "é", "a, value=\"b"}
		entries := make([]MapEntry, len(values))
		for i, value := range values {
			entries[i] = MapEntry{fmt.Sprintf("/key%d\\%d;", i, i), value}
		}
		if err := r.ReplaceMap(within(t, 5*time.Second), file, entries); err != nil {
			t.Fatal(err)
		}
		got, err := r.Map(within(t, 5*time.Second), file)
		if err != nil || !slices.Equal(got, entries) {
			t.Fatalf("Map = %q, %v; want %q", got, err, entries)
		}
		for _, e := range entries {
			reply := do(t, r, "get map "+file+" "+Word(e.Key))[0]
			if value, found := ParseMapEntry(reply.Text, e.Key); !found || value != e.Value {
				t.Errorf("get map %s: %q gives %q, %v", e.Key, reply.Text, value, found)
			}
		}
		if err := r.ReplaceMap(within(t, 5*time.Second), file, nil); err != nil {
			t.Fatal(err)
		}
		payload := Command{Line: "add map " + file}
		for _, e := range entries {
			payload.Payload = append(payload.Payload, e.Key+" "+e.Value)
		}
		replies, err := r.DoCommands(within(t, 5*time.Second), []Command{{Line: "show version"}, payload, {Line: "show map " + file}})
		if err != nil || replies[1].Err != nil || strings.TrimSpace(replies[1].Text) != "" {
			t.Fatalf("%+v, %v", replies, err)
		}
		if got, err := ParseMap(replies[2].Text); err != nil || !slices.Equal(got, entries) {
			t.Errorf("after a payload: %q, %v", got, err)
		}
		if got, err := r.Map(within(t, time.Second), m.path("no.map")); !errors.Is(err, ErrNoSuchMap) {
			t.Errorf("a map that is none: %v, %v", got, err)
		}
	})
}

// The largest payload and the longest line that are sent are taken by both versions, in the middle of a batch, however long the payload's lines are.
func TestTheLargestCommands(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		file := m.path("m.map")
		for _, length := range []int{8, 40, 1000, 15000} {
			c := Command{Line: "add map " + file}
			for i := 0; ; i++ {
				line := fmt.Sprintf("k%05d ", i)
				room := MaxPayload - c.Size() - len(" <<\n") - len(line) - 2
				if room < 1 {
					break
				}
				c.Payload = append(c.Payload, line+strings.Repeat("v", min(room, length)))
			}
			commands := []Command{{Line: "clear map " + file}, {Line: "show version"}, c, {Line: "show version"}, {Line: "show map " + file}}
			replies, err := r.DoCommands(within(t, 10*time.Second), commands)
			if err != nil || replies[2].Err != nil {
				t.Fatalf("lines of %d, %d bytes: %v, %v", length, c.Size(), replies, err)
			}
			got, err := ParseMap(replies[4].Text)
			if err != nil || len(got) != len(c.Payload) || got[len(got)-1].Key+" "+got[len(got)-1].Value != c.Payload[len(c.Payload)-1] {
				t.Errorf("lines of %d: %d entries of %d, %v", length, len(got), len(c.Payload), err)
			}
		}
		longest := "show map " + strings.Repeat("x", MaxLine-1-len("show map "))
		replies := do(t, r, "show version", longest, "show version")
		if !errors.Is(replies[1].Err, ErrNoSuchMap) || replies[2].Err != nil {
			t.Errorf("the longest line: %v", replies)
		}
	})
}

// HAPROXY-2: thousands of commands in one call have their answers in order, the refused ones too.
func TestManyCommandsInOrder(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		var lines []string
		for i := range 3000 {
			lines = append(lines, fmt.Sprintf("set server b/s1 weight %d", i%256))
			if i%7 == 0 {
				lines = append(lines, fmt.Sprintf("set server b/none%d state ready", i), "show servers state b")
			}
		}
		replies := do(t, r, lines...)
		for i, reply := range replies {
			switch {
			case strings.Contains(lines[i], "none"):
				if !errors.Is(reply.Err, ErrNoSuchServer) {
					t.Fatalf("%s: %v", lines[i], reply.Err)
				}
			case strings.HasPrefix(lines[i], "show"):
				servers, err := ParseServersState(reply.Text)
				var want int
				if _, scanErr := fmt.Sscanf(lines[i-2], "set server b/s1 weight %d", &want); err != nil || scanErr != nil || servers[0].Weight != want {
					t.Fatalf("answer %d: weight %d, %v; want %d", i, servers[0].Weight, err, want)
				}
			case reply.Err != nil:
				t.Fatalf("%s: %v", lines[i], reply.Err)
			}
		}
	})
}

// HAProxy closes an idle connection, 2.6 only one that was never used; the next call does not notice.
func TestHAProxyClosesAnIdleConnection(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		text := m.read("haproxy.cfg")
		m.write("haproxy.cfg", strings.Replace(text, "stats timeout 30s", "stats timeout 200ms", 1))
		_, id := m.start()
		r := m.dial()
		if _, err := r.Info(within(t, time.Second)); err != nil {
			t.Fatal(err)
		}
		if v.name == "new" {
			eventually(t, "HAProxy closes the connection", func() bool { return idle(r.conn) != nil })
		}
		if info, err := r.Info(within(t, time.Second)); err != nil || info.PID != id.PID {
			t.Errorf("Info on a connection that was idle: %+v, %v", info, err)
		}
	})
}

// A probe finds what works and leaves the worker as it was, also when one before was broken off.
func TestProbe(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.configure("backend full from dd\n server s1 127.0.0.1:1\nbackend static from dd\n balance source\n")
		m.start()
		r := m.dial()
		want := Capabilities{AddServer: true, AddServerID: true, MapVersions: true, Certificates: true}
		if v.name == "new" {
			want.Wait, want.AddBackend = true, true
		}
		for _, backend := range []string{"probe", "full"} {
			before := do(t, r, "show servers state "+backend)[0].Text
			for i := range 2 {
				got, err := r.Probe(within(t, 5*time.Second), backend)
				if err != nil || got != want {
					t.Errorf("Probe(%s) = %+v, %v; want %+v", backend, got, err, want)
				}
				if after := do(t, r, "show servers state "+backend)[0].Text; len(strings.Fields(after)) != len(strings.Fields(before)) {
					t.Errorf("Probe(%s) has left: %s", backend, after)
				}
				if i == 0 { // as a probe that was broken off leaves it
					must(t, r, "add server "+backend+"/"+probeServer+" 192.0.2.1:1")
				}
			}
		}
		if got, err := r.Probe(within(t, 5*time.Second), "static"); err != nil || got.AddServer || got.AddServerID || !got.MapVersions {
			t.Errorf("Probe of a static backend = %+v, %v", got, err)
		}
		if got, err := r.Probe(within(t, 5*time.Second), "nowhere"); err != nil || got.AddServer || !got.MapVersions {
			t.Errorf("Probe of no backend = %+v, %v", got, err)
		}
	})
}

// What `show stat` says of frontends, backends and servers is read as it is, and follows what is done by hand.
func TestStats(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		read := func(kinds int, proxies ...string) []Stat {
			t.Helper()
			info, stats, err := r.InfoAndStats(within(t, 5*time.Second), kinds, proxies...)
			if err != nil || info.HardMaxConn <= 0 {
				t.Fatal(info, err)
			}
			return stats
		}
		f := read(StatFrontend, "f", "nowhere")
		if len(f) != 1 || f[0].Proxy != "f" || f[0].Name != "FRONTEND" || f[0].Status != "OPEN" || f[0].Limit <= 0 {
			t.Fatalf("frontends %+v", f)
		}
		must(t, r, "set maxconn frontend f 7", "disable frontend f", "set maxconn server b/s2 3")
		if f = read(StatFrontend); f[0].Status != "PAUSED" || f[0].Limit != 7 {
			t.Errorf("frontends %+v", f)
		}
		must(t, r, "enable frontend f", "shutdown frontend f")
		if f = read(StatFrontend, "f"); f[0].Status != "STOP" {
			t.Errorf("frontends %+v", f)
		}
		limits := map[string]int{}
		for _, s := range read(StatBackend|StatServer, "b") {
			limits[s.Name] = s.Limit
		}
		if limits["s2"] != 3 || limits["s3"] != 0 || limits["BACKEND"] <= 0 {
			t.Errorf("limits %v", limits)
		}
	})
}
