package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

func revision(resources ...snapshot.Resource) *snapshot.Revision {
	d := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{}}
	for _, r := range resources {
		d.Changes[r.Key()] = r
	}
	return snapshot.EmptyRevision().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
}

func generation(tables ...*snapshot.Table) *snapshot.Generation {
	d := snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{}}
	for _, t := range tables {
		d.Tables[t.Backend], _ = snapshot.DiffTables(nil, t)
	}
	return snapshot.EmptyGeneration().Apply(d, snapshot.Version{Epoch: 1, Number: 1})
}

func slot(state snapshot.SlotState, address string, port, weight uint16) snapshot.Slot {
	return snapshot.Slot{State: state, Address: netip.MustParseAddr(address), Port: port, Weight: weight, Endpoint: "shop/pod"}
}

func words(s string) snapshot.Line { return strings.Fields(s) }

// certificate is a resource whose PEM is the machine's affair.
func certificate(name string, serverNames ...string) *snapshot.Certificate {
	return &snapshot.Certificate{Name: name, ServerNames: serverNames, Content: snapshot.PEMDigest([]byte(name))}
}

// resources are one of everything, as the plane compiles it.
func resources() []snapshot.Resource {
	return []snapshot.Resource{
		&snapshot.Section{Type: "global", Lines: []snapshot.Line{words("hard-stop-after 10m")}},
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{
			words("mode http"), words("timeout connect 500ms"), words("timeout client 60s"), words("timeout server 60s"),
			words("timeout http-keep-alive 5s"), words("timeout http-request 10s"), words("timeout queue 5s"), words("retries 4"),
			words("option redispatch 1"), words("retry-on conn-failure empty-response"), words("http-reuse safe"),
			words("option idle-close-on-response"),
		}},
		&snapshot.Section{Type: "resolvers", Name: "local", Lines: []snapshot.Line{words("nameserver one 127.0.0.1:53")}},
		&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: []snapshot.Line{
			words("http-request set-var(txn.host) req.hdr(host),host_only,lower,rtrim(.)"),
			words("http-request set-var(txn.owner) var(txn.host),map_str(maps/hosts.map)"),
			words("http-request set-var(txn.owner) var(txn.host),regsub(^[^.]+,*),map_str(maps/hosts.map) if !{ var(txn.owner) -m found }"),
			words("http-request set-var(txn.path) path"),
			words("http-request set-var(txn.backend) var(txn.owner),concat(,txn.path),map_str(maps/exact.map)"),
			words("http-request return status 404 if !{ var(txn.backend) -m found }"),
			words("use_backend %[var(txn.backend)]"),
			words("default_backend berth_unavailable"),
		}},
		&snapshot.Backend{Name: "berth_unavailable", Defaults: "berth", Lines: []snapshot.Line{words("http-request return status 503")}},
		&snapshot.Backend{Name: "shop_web_80", Defaults: "berth", Lines: []snapshot.Line{
			words("http-request disable-l7-retry unless METH_GET or METH_OPTIONS"),
			words("balance roundrobin"),
			{"http-response", "set-header", "X-Quoted", `it's "50%" \ #1; $HOME`},
		}, ServerOptions: words("check inter 2s")},
		&snapshot.Map{Name: "hosts"},
		&snapshot.Map{Name: "exact"},
		&snapshot.Map{Name: "empty"},
		&snapshot.MapEntry{Map: "hosts", Name: "shop.example.com", Value: "h1"},
		&snapshot.MapEntry{Map: "hosts", Name: "*.example.com", Value: "h2"},
		&snapshot.MapEntry{Map: "exact", Name: "h1/", Value: "shop_web_80"},
		&snapshot.MapEntry{Map: "exact", Name: "h1/a;b'c\"d\\e#f$g", Value: "shop_web_80"},
		certificate("shop/wild", "*.example.com", "example.com"),
		certificate("shop/tls", "shop.example.com"),
		certificate("shop/unused"),
	}
}

func tables() []*snapshot.Table {
	return []*snapshot.Table{
		{Backend: "shop_web_80", Slots: []snapshot.Slot{
			slot(snapshot.Ready, "10.0.0.1", 8080, 100),
			slot(snapshot.Drain, "fd00::1", 8080, 100),
			{},
			{Since: 7},
			slot(snapshot.Ready, "10.0.0.2", 8081, 256),
		}},
		{Backend: "of_another_revision", Slots: make([]snapshot.Slot, 4)},
	}
}

func TestFilesGolden(t *testing.T) {
	for name, c := range map[string]struct {
		rev      *snapshot.Revision
		gen      *snapshot.Generation
		settings render.Settings
	}{
		"empty": {snapshot.EmptyRevision(), snapshot.EmptyGeneration(), render.Settings{StateDir: "/var/lib/berth", HTTPPort: 8080}},
		"full": {revision(resources()...), generation(tables()...), render.Settings{
			StateDir: "/var/lib/berth", HTTPPort: 8080, HTTPSPort: 8443, MaxConn: 2000, Threads: 2,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := render.DefaultMachine(c.settings)
			m.Backends = []*snapshot.Backend{{Name: "zz_probe", Lines: []snapshot.Line{words("mode http")}}, {Name: "aa_of_the_machine"}}
			files, err := render.Files(c.rev, c.gen, m)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name), files)
		})
	}
}

// golden compares all files below a folder with these.
func golden(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		write(t, dir, files, nil)
	}
	found := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found++
		if got, ok := files[filepath.ToSlash(name)]; !ok || !bytes.Equal(got, want) {
			t.Errorf("%s is not as in %s (go test -update writes it anew):\n%s", name, path, got)
		}
		return nil
	})
	if err != nil || found != len(files) {
		t.Errorf("%s has %d files, %d were rendered (%v)", dir, found, len(files), err)
	}
}

func TestHAProxyAccepts(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		for name, settings := range map[string]render.Settings{
			"all addresses": {HTTPPort: 8080, HTTPSPort: 8443, MaxConn: 100, Threads: 2},
			"IPv4 only":     {HTTPPort: 8080, HTTPSPort: 8443, IPv4Only: true},
			"one IPv4":      {HTTPPort: 8080, BindAddress: "127.0.0.1"},
			"one IPv6":      {HTTPPort: 8080, HTTPSPort: 8443, BindAddress: "::1"},
		} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				settings.StateDir = dir
				files, err := render.Files(revision(resources()...), generation(tables()...), render.DefaultMachine(settings))
				if err != nil {
					t.Fatal(err)
				}
				write(t, dir, files, map[string]string{
					render.DefaultCertificate:                        "default",
					render.CertificateFile(certificate("shop/wild")): "*.example.com",
					render.CertificateFile(certificate("shop/tls")):  "shop.example.com",
				})
				check(t, haproxy, dir)
			})
		}
	})
}

// The largest that may be in a snapshot is not too large for HAProxy.
func TestHAProxyAcceptsTheLimits(t *testing.T) {
	long := strings.Repeat("x", snapshot.MaxWord-1)
	acl := words("acl many path")
	for len(acl) < snapshot.MaxWords {
		acl = append(acl, fmt.Sprintf("/%d", len(acl)))
	}
	options := words("check")
	for len(options) < snapshot.MaxWords-snapshot.ServerWords {
		options = append(options, "check")
	}
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("%d.%s.example.com", i, strings.Repeat("x", 60))
	}
	rs := append(resources(),
		&snapshot.Backend{Name: strings.Repeat("b", snapshot.MaxName), Defaults: "berth",
			Lines: []snapshot.Line{{"acl", "long", "path", "/" + long}, acl}, ServerOptions: options},
		&snapshot.MapEntry{Map: "exact", Name: strings.Repeat("k", snapshot.MaxMapText), Value: strings.Repeat("v", snapshot.MaxMapText)},
		certificate("shop/many", names...))
	ts := append(tables(), &snapshot.Table{Backend: strings.Repeat("b", snapshot.MaxName), Slots: make([]snapshot.Slot, 300)})
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		dir := t.TempDir()
		files, err := render.Files(revision(rs...), generation(ts...), render.DefaultMachine(render.Settings{StateDir: dir, HTTPPort: 8080, HTTPSPort: 8443}))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, files, map[string]string{
			render.DefaultCertificate:                        "default",
			render.CertificateFile(certificate("shop/wild")): "*.example.com",
			render.CertificateFile(certificate("shop/tls")):  "shop.example.com",
			render.CertificateFile(certificate("shop/many")): "many.example.com",
		})
		check(t, haproxy, dir)
	})
}

// Whatever cannot be written names the resource and, of a line, its number.
func TestRENDER1_Refusals(t *testing.T) {
	machine := render.DefaultMachine(render.Settings{StateDir: "/var/lib/berth", HTTPPort: 80})
	broken := machine
	broken.Global = []snapshot.Line{words("daemon"), {"pidfile", "a\nb"}}
	spaced := machine
	spaced.CertificateFile = func(*snapshot.Certificate) string { return "my certs/x.pem" }
	double := machine
	double.Backends = []*snapshot.Backend{{Name: "b"}}
	for name, c := range map[string]struct {
		r       snapshot.Resource
		machine render.Machine
		want    string
	}{
		"line feed":            {&snapshot.Backend{Name: "b", Lines: []snapshot.Line{words("mode http"), {"acl", "a\nb"}}}, machine, "backend b: line 2: word 2"},
		"carriage return":      {&snapshot.Section{Type: "frontend", Name: "web", Lines: []snapshot.Line{{"acl", "a\rb"}}}, machine, "section frontend web: line 1"},
		"NUL in an option":     {&snapshot.Backend{Name: "b", ServerOptions: []string{"a\x00"}}, machine, "backend b: server options: word 1"},
		"key with white space": {&snapshot.MapEntry{Map: "hosts", Name: "a b", Value: "c"}, machine, "map entry hosts a b: key"},
		"key that is comment":  {&snapshot.MapEntry{Map: "hosts", Name: "#a", Value: "c"}, machine, "map entry hosts #a: key"},
		"server name":          {certificate("shop/tls", "a b"), machine, "certificate shop/tls: server name"},
		"machine's line":       {&snapshot.Map{Name: "m"}, broken, "section global: line 2 of the machine's own"},
		"file name":            {certificate("shop/tls", "a"), spaced, "certificate shop/tls: the file name"},
		"machine's backend":    {&snapshot.Backend{Name: "b"}, double, "backend b: the machine has a backend"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render.Files(revision(&snapshot.Map{Name: "hosts"}, c.r), snapshot.EmptyGeneration(), c.machine)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	gen := generation(&snapshot.Table{Backend: "b", Slots: []snapshot.Slot{{}, {State: snapshot.Ready}}})
	if _, err := render.Files(revision(&snapshot.Backend{Name: "b"}), gen, machine); err == nil || !strings.Contains(err.Error(), "backend b: slot 2") {
		t.Fatalf("got %v, want an error that names slot 2", err)
	}
}

// A freed slot is written as one that was never taken, and nothing of a state file is anywhere.
func TestRENDER2_FreeIsThePlaceholder(t *testing.T) {
	rev := revision(resources()...)
	taken := generation(tables()...)
	freed := taken.Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{
		"shop_web_80": {Length: 5, Slots: map[int]snapshot.Slot{0: {Since: 3}, 1: {Since: 3}, 4: {Since: 3}}},
	}}, snapshot.Version{Epoch: 1, Number: 3})
	never := generation(&snapshot.Table{Backend: "shop_web_80", Slots: make([]snapshot.Slot, 5)})
	m := render.DefaultMachine(render.Settings{StateDir: "/var/lib/berth", HTTPPort: 80})
	a, b := files(t, rev, freed, m), files(t, rev, never, m)
	if !bytes.Equal(a[render.ConfigFile], b[render.ConfigFile]) {
		t.Fatalf("a freed slot leaves a trace:\n%s", a[render.ConfigFile])
	}
	config := string(files(t, rev, taken, m)[render.ConfigFile])
	for _, word := range []string{"server-state", "state-from-file", "init-addr"} {
		if strings.Contains(config, word) {
			t.Errorf("the configuration has %q", word)
		}
	}
	if n := strings.Count(config, " 192.0.2.1:1 id 3 weight 100 disabled check inter 2s\n"); n != 1 {
		t.Errorf("slot 3 is written %d times as the disabled placeholder:\n%s", n, config)
	}
}

// The order in which a snapshot came to be leaves no trace.
func TestRENDER3_Order(t *testing.T) {
	m := render.DefaultMachine(render.Settings{StateDir: "/var/lib/berth", HTTPPort: 80, HTTPSPort: 443})
	want := files(t, revision(resources()...), generation(tables()...), m)
	rapid.Check(t, func(t *rapid.T) {
		rev, gen := snapshot.EmptyRevision(), snapshot.EmptyGeneration()
		for _, r := range rapid.Permutation(resources()).Draw(t, "resources") {
			rev = rev.Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{r.Key(): r}}, snapshot.Version{})
		}
		for _, x := range rapid.Permutation(tables()).Draw(t, "tables") {
			d, _ := snapshot.DiffTables(nil, x)
			gen = gen.Apply(snapshot.GenerationDelta{Tables: map[string]snapshot.TableDelta{x.Backend: d}}, snapshot.Version{})
		}
		got, err := render.Files(rev, gen, m)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d files, want %d (%v)", len(got), len(want), err)
		}
		for name := range want {
			if !bytes.Equal(got[name], want[name]) {
				t.Fatalf("%s depends on the order:\n%s", name, got[name])
			}
		}
	})
	// Sections stand in the order in which HAProxy needs them, whatever their names.
	at := -1
	for _, title := range []string{
		"global\n", "defaults berth\n", "resolvers local\n", "frontend web from berth\n", "backend berth_unavailable from", "backend shop_web_80 from",
	} {
		next := bytes.Index(want[render.ConfigFile], []byte(title))
		if next <= at {
			t.Fatalf("%q stands at %d, what comes before it at %d", title, next, at)
		}
		at = next
	}
}

func files(t *testing.T, rev *snapshot.Revision, gen *snapshot.Generation, m render.Machine) map[string][]byte {
	t.Helper()
	f, err := render.Files(rev, gen, m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func BenchmarkFiles(b *testing.B) {
	for _, backends := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("backends=%d", backends), func(b *testing.B) {
			rs := resources()
			var ts []*snapshot.Table
			for i := range backends {
				name := fmt.Sprintf("shop_web%d_80", i)
				rs = append(rs, &snapshot.Backend{Name: name, Defaults: "berth", Lines: []snapshot.Line{
					words("http-request disable-l7-retry unless METH_GET or METH_OPTIONS"), words("balance roundrobin"),
				}})
				slots := make([]snapshot.Slot, 10)
				for j := range 7 {
					slots[j] = slot(snapshot.Ready, netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), byte(j)}).String(), 8080, 100)
				}
				ts = append(ts, &snapshot.Table{Backend: name, Slots: slots})
			}
			rev, gen := revision(rs...), generation(ts...)
			m := render.DefaultMachine(render.Settings{StateDir: "/var/lib/berth", HTTPPort: 80, HTTPSPort: 443})
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				f, err := render.Files(rev, gen, m)
				if err != nil {
					b.Fatal(err)
				}
				n = len(f[render.ConfigFile])
			}
			b.SetBytes(int64(n))
		})
	}
}
