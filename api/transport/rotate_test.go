package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/berth-proxy/berth/api/transport"
	"github.com/berth-proxy/berth/api/transport/transporttest"
)

// mounted are files as Kubernetes mounts a Secret: links into ..data, which is a link that is swapped.
type mounted struct {
	t     *testing.T
	dir   string
	turns int
}

func (m *mounted) files() transport.Files {
	at := func(name string) string { return filepath.Join(m.dir, name) }
	return transport.Files{Cert: at("tls.crt"), Key: at("tls.key"), CA: at("ca.crt")}
}

func mount(t *testing.T, f transport.Files) *mounted {
	t.Helper()
	m := &mounted{t: t, dir: t.TempDir()}
	m.swap(f)
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *mounted) swap(f transport.Files) {
	m.t.Helper()
	m.turns++
	name := "..turn" + strings.Repeat("x", m.turns)
	err := os.Mkdir(filepath.Join(m.dir, name), 0o700)
	for to, from := range map[string]string{"tls.crt": f.Cert, "tls.key": f.Key, "ca.crt": f.CA} {
		err = errors.Join(err, copyFile(from, filepath.Join(m.dir, name, to)))
	}
	link := filepath.Join(m.dir, "..data_tmp")
	if err := errors.Join(err, os.Symlink(name, link), os.Rename(link, filepath.Join(m.dir, "..data"))); err != nil {
		m.t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	temp := to + ".new"
	return errors.Join(os.WriteFile(temp, text, 0o600), os.Rename(temp, to))
}

func bundle(t *testing.T, a ...*transporttest.Authority) string {
	t.Helper()
	var all []byte
	for _, x := range a {
		text, err := os.ReadFile(x.CA())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	path := filepath.Join(t.TempDir(), "bundle.crt")
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, f transport.Files, tell func(error)) *transport.Current {
	t.Helper()
	c, err := transport.Open(f, tell)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func both(t *testing.T, server, client *transport.Current) (credentials.TransportCredentials, credentials.TransportCredentials) {
	t.Helper()
	s, err := server.Server("0.0.0.0:1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Client("10.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestTRANSPORT3_AnAuthorityIsReplacedByOverlap(t *testing.T) {
	before, after := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	with := func(a *transporttest.Authority, name string, cas ...*transporttest.Authority) transport.Files {
		f := a.Files(name)
		f.CA = bundle(t, cas...)
		return f
	}
	plane, agent := mount(t, before.Files("plane")), mount(t, before.Files("agent"))
	server, client := both(t, open(t, plane.files(), nil), open(t, agent.files(), nil))
	for _, step := range []struct {
		name string
		do   func()
		fine bool
	}{
		{"at first", func() {}, true},
		{"the plane trusts both", func() { plane.swap(with(before, "plane", before, after)) }, true},
		{"the agent trusts both", func() { agent.swap(with(before, "agent", before, after)) }, true},
		{"the agent has a new certificate", func() { agent.swap(with(after, "agent", before, after)) }, true},
		{"the plane has a new certificate", func() { plane.swap(with(after, "plane", before, after)) }, true},
		{"nobody trusts the old one", func() { plane.swap(after.Files("plane")); agent.swap(after.Files("agent")) }, true},
		{"an agent that still has it", func() { agent.swap(with(before, "agent", after)) }, false},
	} {
		step.do()
		if atServer, atClient := shakeHands(t, server, client); (atServer == nil && atClient == nil) != step.fine {
			t.Errorf("%s: server: %v, client: %v", step.name, atServer, atClient)
		}
	}
}

func TestTRANSPORT3_WhatIsBrokenIsToldOnceAndNotUsed(t *testing.T) {
	authority, stranger := transporttest.NewAuthority(t), transporttest.NewAuthority(t)
	first, second := authority.Files("first"), authority.Files("second")
	whole, err := os.ReadFile(authority.CA())
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(stranger.CA())
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.crt")
	if err := os.WriteFile(torn, append(other, whole[:len(whole)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]transport.Files{
		"a key of another":      {Cert: second.Cert, Key: first.Key, CA: first.CA},
		"half a bundle":         {Cert: first.Cert, Key: first.Key, CA: torn},
		"an empty certificate":  {Cert: empty, Key: second.Key, CA: first.CA},
		"an empty CA":           {Cert: second.Cert, Key: second.Key, CA: empty},
		"no certificate but CA": {Cert: first.Key, Key: first.Key, CA: first.CA},
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t, first)
			var told []error
			current := open(t, m.files(), func(err error) { told = append(told, err) })
			server, client := both(t, current, open(t, authority.Files("peer"), nil))
			m.swap(broken)
			for range 3 {
				if atServer, atClient := shakeHands(t, server, client); atServer != nil || atClient != nil {
					t.Errorf("server: %v, client: %v", atServer, atClient)
				}
			}
			if len(told) != 1 || told[0] == nil || current.Problem() == nil {
				t.Errorf("told of %v, want one problem, and now %v", told, current.Problem())
			}
			m.swap(second)
			if atServer, atClient := shakeHands(t, server, client); atServer != nil || atClient != nil {
				t.Errorf("mended, server: %v, client: %v", atServer, atClient)
			}
			if len(told) != 2 || told[1] != nil || current.Problem() != nil {
				t.Errorf("mended, told of %v, and now %v", told, current.Problem())
			}
		})
	}
}

func TestTRANSPORT3_FilesThatGoAwayStayInUse(t *testing.T) {
	f := transporttest.NewAuthority(t).Files("plane")
	told := 0
	current := open(t, f, func(error) { told++ })
	server, client := both(t, current, current)
	if err := os.Remove(f.Key); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if atServer, atClient := shakeHands(t, server, client); atServer != nil || atClient != nil {
			t.Errorf("server: %v, client: %v", atServer, atClient)
		}
	}
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
}

// A certificate that is renamed into place is the one that the next handshake shows, and how long it lasts is known.
func TestTRANSPORT3_TheNextHandshakeShowsTheNewCertificate(t *testing.T) {
	authority := transporttest.NewAuthority(t)
	m := mount(t, authority.Files("before"))
	current := open(t, m.files(), nil)
	config, err := current.ServerConfig("0.0.0.0:1")
	if err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		c, err := config.GetConfigForClient(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if got := shown(); got != "before" {
		t.Errorf("%s is shown", got)
	}
	after := authority.Files("after")
	if err := errors.Join(copyFile(after.Cert, m.files().Cert), copyFile(after.Key, m.files().Key)); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != "after" {
		t.Errorf("%s is shown after the rename", got)
	}
	if left := current.Left(); left <= 0 || left > time.Hour {
		t.Errorf("%s left of an hour", left)
	}
}
