package render_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/haproxytest"
	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

func client(transport *http.Transport) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	answer, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(b)
}

// evil are words that mean something to HAProxy where they are not quoted: quotes, comments, variables, escapes, separators, keywords.
var evil = []string{
	`'`, `''`, `"`, `""`, `\`, `\\`, `\'`, `'\''`, `" "`, `a b`, ` leading`, `trailing `, "\t", "a\tb", `#`, `a#b`, `# comment`, `$HOME`, `"$HOME"`, `${HOME}`,
	`"${HOME[*]}"`, `$(id)`, "`id`", `;`, `a;b`, `{`, `}`, `%[src]`, `%{+Q}o`, `%%`, `\n`, `\x41`, `\ `, `'; http-request deny; '`, `" if FALSE #`,
	`é ü 漢字 🚢`, "\x01\x7f", `[`, `]`, `(a,b)`, `-`, `--`, `*`, `!`, `||`, `~`, `\` + strings.Repeat(`'`, 40), strings.Repeat(`"\`, 1024), `if`, `unless`,
}

// RENDER-1 by behaviour: HAProxy answers each path with the word that was given, a line after each is still there, and nothing else is.
func TestRENDER1_WordsComeBack(t *testing.T) {
	var lines []snapshot.Line
	for i, w := range evil {
		lines = append(lines,
			snapshot.Line{"http-request", "return", "status", "200", "content-type", "text/plain", "string", w, "if", "{", "path", fmt.Sprintf("/%d", i), "}"},
			snapshot.Line{"http-request", "return", "status", "202", "if", "{", "path", fmt.Sprintf("/%d/after", i), "}"})
	}
	lines = append(lines, words("http-request return status 404"))
	t.Setenv("HOME", "the value of a variable")
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		dir, port := t.TempDir(), haproxytest.FreePort(t)
		rev := revision(
			&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{words("mode http"), words("timeout client 5s")}},
			&snapshot.Section{Type: "frontend", Name: "web from berth", Lines: lines})
		m := render.DefaultMachine(render.Settings{StateDir: dir, HTTPPort: port, BindAddress: "127.0.0.1"})
		write(t, dir, files(t, rev, snapshot.EmptyGeneration(), m), nil)
		start(t, haproxy, dir)
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		c := client(transport)
		for i, w := range evil {
			url := fmt.Sprintf("http://127.0.0.1:%d/%d", port, i)
			if answer, body := get(t, c, url); answer.StatusCode != 200 || body != w {
				t.Errorf("word %q came back as %d %q", w, answer.StatusCode, body)
			}
			if answer, _ := get(t, c, url+"/after"); answer.StatusCode != 202 {
				t.Errorf("the line after the word %q answers %d", w, answer.StatusCode)
			}
		}
		if answer, _ := get(t, c, fmt.Sprintf("http://127.0.0.1:%d/", port)); answer.StatusCode != 404 {
			t.Errorf("the last line answers %d", answer.StatusCode)
		}
	})
}

// The default machine's listeners: HTTP/1.1 and HTTP/2 by prior knowledge on one port, TLS with the right certificate on the other.
func TestDefaultMachineServes(t *testing.T) {
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		dir, plain, secure := t.TempDir(), haproxytest.FreePort(t), haproxytest.FreePort(t)
		m := render.DefaultMachine(render.Settings{StateDir: dir, HTTPPort: plain, HTTPSPort: secure, BindAddress: "127.0.0.1"})
		write(t, dir, files(t, revision(resources()...), generation(tables()...), m), map[string]string{
			render.DefaultCertificate:                        "default.invalid",
			render.CertificateFile(certificate("shop/wild")): "wild",
			render.CertificateFile(certificate("shop/tls")):  "tls",
		})
		start(t, haproxy, dir)

		var h2c, h1 http.Protocols
		h2c.SetUnencryptedHTTP2(true)
		h1.SetHTTP1(true)
		for want, protocols := range map[int]*http.Protocols{1: &h1, 2: &h2c} {
			transport := &http.Transport{Protocols: protocols}
			answer, _ := get(t, client(transport), fmt.Sprintf("http://127.0.0.1:%d/", plain))
			if answer.StatusCode != 404 || answer.ProtoMajor != want {
				t.Errorf("HTTP/%d on the plain port: %d by %s", want, answer.StatusCode, answer.Proto)
			}
			transport.CloseIdleConnections()
		}
		for name, want := range map[string]string{
			"shop.example.com": "tls", "SHOP.example.com": "tls", "other.example.com": "wild", "example.com": "wild", "a.b.example.com": "default.invalid",
			"tls": "default.invalid", "": "default.invalid",
		} {
			if got := certificateFor(t, secure, name); got != want {
				t.Errorf("the certificate for %q is %q, want %q", name, got, want)
			}
		}
		c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		if conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", secure), c); err == nil {
			_ = conn.Close()
			t.Error("TLS 1.1 is accepted")
		}
	})
}

// certificateFor is the common name of the certificate that is shown for a server name, which must be shown over HTTP/2.
func certificateFor(t *testing.T, port int, serverName string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{InsecureSkipVerify: true, ServerName: serverName, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != "h2" {
		t.Errorf("%q was agreed on, want h2", state.NegotiatedProtocol)
	}
	return state.PeerCertificates[0].Subject.CommonName
}

// A server that was added at run time is the one that the next reload reads (RENDER-4).
func TestRENDER4_AddedIsRendered(t *testing.T) {
	options := words("check inter 2s resolvers local init-addr last enabled maxconn 50")
	full := []snapshot.Slot{
		slot(snapshot.Ready, "127.0.0.1", 8080, 100),
		slot(snapshot.Ready, "127.0.0.2", 8081, 7),
		slot(snapshot.Drain, "::1", 8082, 100),
		{Since: 4},
	}
	base := []snapshot.Resource{
		&snapshot.Section{Type: "defaults", Name: "berth", Lines: []snapshot.Line{
			words("mode http"), words("timeout client 5s"), words("timeout server 5s"), words("timeout connect 500ms"),
		}},
		&snapshot.Section{Type: "resolvers", Name: "local", Lines: []snapshot.Line{words("nameserver one 127.0.0.1:53")}},
		&snapshot.Backend{Name: "b", Defaults: "berth", Lines: []snapshot.Line{words("balance roundrobin")}, ServerOptions: words("check inter 2s maxconn 50")},
	}
	haproxytest.Each(t, func(t *testing.T, haproxy string) {
		servers := func(slots []snapshot.Slot, more func(dir string)) string {
			dir := t.TempDir()
			gen := generation(&snapshot.Table{Backend: "b", Slots: slots})
			write(t, dir, files(t, revision(base...), gen, render.DefaultMachine(render.Settings{StateDir: dir})), nil)
			start(t, haproxy, dir)
			more(dir)
			return servers(ask(t, dir, "show servers state b"))
		}
		want := servers(full, func(string) {})
		got := servers(full[:1], func(dir string) {
			for i, s := range full[1:] {
				l := render.AddServer("b", i+1, s, options)
				if answer := ask(t, dir, strings.Join(l, " ")); !strings.Contains(answer, "New server registered") {
					t.Fatalf("%v: %s", l, answer)
				}
			}
		})
		if got != want || strings.Count(want, "\n") != len(full) {
			t.Errorf("added:\n%s\nrendered:\n%s", got, want)
		}
	})
}

// servers takes id, name, address, weight and port from the answer to `show servers state`.
func servers(answer string) string {
	var b strings.Builder
	for _, l := range strings.Split(answer, "\n") {
		if f := strings.Fields(l); len(f) > 18 && f[1] == "b" {
			fmt.Fprintln(&b, f[2], f[3], f[4], f[7], f[18])
		}
	}
	return b.String()
}

func TestServer(t *testing.T) {
	ready := slot(snapshot.Ready, "10.0.0.1", 8080, 30)
	for _, c := range []struct{ got, want snapshot.Line }{
		{render.Server(0, ready, words("check")), words("server s1 10.0.0.1:8080 id 1 weight 30 check")},
		{render.Server(41, slot(snapshot.Drain, "fd00::1", 80, 9), nil), words("server s42 [fd00::1]:80 id 42 weight 0")},
		{render.Server(2, snapshot.Slot{Since: 8}, words("check")), words("server s3 192.0.2.1:1 id 3 weight 100 disabled check")},
		{render.AddServer("b", 2, snapshot.Slot{}, nil), words("add server b/s3 192.0.2.1:1 id 3 weight 100")},
		{
			render.AddServer("b", 0, ready, words("enabled check resolvers dns resolve-prefer ipv4 resolve-net 10.0.0.0/8 init-addr none cookie enabled sni resolvers")),
			words("add server b/s1 10.0.0.1:8080 id 1 weight 30 check cookie enabled sni resolvers"),
		},
	} {
		if strings.Join(c.got, " ") != strings.Join(c.want, " ") {
			t.Errorf("got  %q\nwant %q", c.got, c.want)
		}
	}
	for _, i := range []int{0, 1, 9, 65535} {
		if got, ok := render.ServerIndex(render.ServerName(i)); !ok || got != i {
			t.Errorf("index %d has the name %s, which is %d", i, render.ServerName(i), got)
		}
	}
	for _, name := range []string{"", "s", "s0", "s01", "s-1", "x1", "s1x", "s99999999999"} {
		if got, ok := render.ServerIndex(name); ok {
			t.Errorf("%q is taken for slot %d", name, got)
		}
	}
}

// The words of a server line and what is written into the file are one.
func TestRENDER4_WordsAreTheLine(t *testing.T) {
	config := string(files(t, revision(resources()...), generation(tables()...), render.Machine{})[render.ConfigFile])
	for i, s := range tables()[0].Slots {
		l, err := render.Quote(render.Server(i, s, words("check inter 2s")))
		if err != nil || !strings.Contains(config, "\n    "+l+"\n") {
			t.Errorf("%s is not in the configuration (%v)", l, err)
		}
	}
}
