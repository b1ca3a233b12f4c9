package haproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// The texts of both versions, as they came: the first is 2.6.12's, the second 3.4.7's where it differs.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		texts   []string
		want    error
	}{
		{"set server b/s addr 127.0.0.9 port 80", []string{
			"IP changed from '127.0.0.1' to '127.0.0.9', port changed from '81' to '80' by 'stats socket command'\n",
			"IP changed from '127.0.0.1' to '127.0.0.9', no need to change the port by 'stats socket command'\n",
			"IP changed from '127.0.0.1' to '127.0.0.9' by 'stats socket command'\n",
			"no need to change the addr, port changed from '19001' to '34463' by 'stats socket command'\n",
			"port changed from '19001' to '34463' by 'stats socket command'\n",
			"no need to change the addr, no need to change the port by 'stats socket command'\n",
			"no need to change the addr by 'stats socket command'\n",
			"nothing changed\n",
		}, nil},
		{"set server b/s addr 127.0.0.300", []string{"Invalid addr '127.0.0.300' by 'stats socket command'\n", "Invalid addr '127.0.0.300'\n"}, ErrInvalidAddress},
		{"set server b/s addr 127.0.0.1 port abc", []string{
			"no need to change the addr, problem converting port 'abc' to an int by 'stats socket command'\n", "problem converting port 'abc' to an int\n",
		}, ErrInvalidAddress},
		{"set server b/s addr", []string{"set server <b>/<s> addr requires an address and optionally a port.\n"}, ErrRefused},
		{"set server u/s addr 127.0.0.1", []string{
			"Update for the current server address family is only supported through configuration file by 'stats socket command'\n",
			"Update for the current server address family is only supported through configuration file.\n",
		}, ErrRefused},
		{"set server b/s state ready", []string{"", "\n"}, nil},
		{"set server b/s state nope", []string{"'set server <srv> state' expects 'ready', 'drain' and 'maint'.\n"}, ErrRefused},
		{"set server b/s weight 300", []string{"Absolute weight can only be between 0 and 256 inclusive.\n"}, ErrRefused},
		{"set server b/s weight abc", []string{"Empty weight string empty or preceded by garbage", "Empty weight string empty or preceded by garbage\n"}, ErrRefused},
		{"set server b/s state ready", []string{"Proxy is disabled.\n"}, ErrStopping},
		{"set server none/s state ready", []string{"No such backend.\n"}, ErrNoSuchBackend},
		{"set server b/none state ready", []string{"No such server.\n"}, ErrNoSuchServer},
		{"set server b state ready", []string{"Require 'backend/server'.\n"}, ErrRefused},
		{"show servers state none", []string{"Can't find backend.\n"}, ErrNoSuchBackend},
		{"show servers state b", []string{"1\n# be_id be_name\n"}, nil},
		{"show map #0", []string{"Unknown map identifier. Please use #<id> or <file>.\n"}, ErrNoSuchMap},
		{"show map m", []string{"0x55f4fe165620 /a No such server\n0x55f4fe165621 No such backend. x\n"}, nil},
		{"enable health b/s", []string{""}, nil},
		{"enable health b/s", []string{"Health check was not configured on this server, cannot enable.\n"}, ErrRefused},
		{"add server b/s 127.0.0.1:1", []string{"New server registered.\n"}, nil},
		{"add server b/s 127.0.0.1:1", []string{"Already exists a server with the same name in backend.\n"}, ErrExists},
		{"add server b/s 127.0.0.1:1 id 1", []string{"'id' : custom id 1 already used at old/haproxy.cfg:16 ('server s1').\n"}, ErrExists},
		{"add server none/s 127.0.0.1:1", []string{"No such backend.", "No such backend.\n"}, ErrNoSuchBackend},
		{"add server b/s 127.0.0.1:1 foo", []string{"unknown keyword 'foo'; did you mean 'tfo' maybe ?\n"}, ErrRefused},
		{"add server b/s 127.0.0.1:1", []string{
			"Backend must use a dynamic load balancing to support dynamic servers.",
			"Backend does not support dynamic servers : backend 'b' uses a non dynamic load balancing method.\n",
		}, ErrStatic},
		{"del server b/s", []string{"Server deleted.", "Server deleted.\n"}, nil},
		{"del server b/s", []string{"Only servers in maintenance mode can be deleted.", "Only servers in maintenance mode can be deleted.\n"}, ErrInUse},
		{"del server b/s", []string{"Server still has connections attached to it, cannot remove it.", "Server still has connections attached to it, cannot remove it.\n"}, ErrInUse},
		{"set map m k v", []string{"entry not found.\n"}, ErrNoSuchEntry},
		{"del map m k", []string{"Key not found.\n"}, ErrNoSuchEntry},
		{"prepare map m", []string{"New version created: 1\n"}, nil},
		{"prepare map m", []string{"Unknown map identifier. Please use #<id> or <file>.\n"}, ErrNoSuchMap},
		{"add map @9 m k v", []string{"Version number in the future, please use 'prepare map' before.\n"}, ErrRefused},
		{"commit map @9 m", []string{"Version number out of range.\n"}, ErrRefused},
		{"add map m", []string{"Missing value for key 'k1'.\n"}, ErrRefused},
		{"wait 1ms", []string{"Done.\n"}, nil},
		{"wait 1ms srv-removable b/none", []string{"Failed. No such server.\n"}, ErrNoSuchServer},
		{"wait 1ms be-removable b", []string{"Failed. Only a backend without server can be deleted.\n"}, ErrInUse},
		{"wait 1ms", []string{
			"Unknown command, but maybe one of the following ones is a better match:\n  commit acl @<ver> <acl>                 : commit the ACL at this version\n",
			"Unknown command: 'foo', but maybe one of the following ones is a better match:\n  echo <text>                             : print text to the output\n",
		}, ErrUnknownCommand},
		{"add backend x from d", []string{"New backend registered.\n"}, nil},
		{"add backend x from d", []string{"Error during backend creation : name is already used by other proxy 'backend x'.\n"}, ErrExists},
		{"add backend x from none", []string{"Cannot find default proxy 'none'.\n"}, ErrRefused},
		{"publish backend x", []string{"Backend published.\n"}, nil},
		{"unpublish backend x", []string{"Backend unpublished.\n"}, nil},
		{"del backend x", []string{"Server deleted.\nBackend deleted.\n", "Backend deleted.\n"}, nil},
		{"del backend x", []string{"Backend must be unpublished prior to its deletion.\n"}, ErrInUse},
		{"new ssl cert f", []string{"New empty certificate store 'f'!\n"}, nil},
		{"new ssl cert f", []string{"Certificate 'f' already exists!\n"}, ErrExists},
		{"set ssl cert f", []string{"Transaction created for certificate f!\n", "Transaction updated for certificate f!\n"}, nil},
		{"set ssl cert f", []string{"unable to load certificate from file 'f'.\nCan't load the payload\nCan't update f!\n"}, ErrRefused},
		{"commit ssl cert f", []string{"Committing f\nSuccess!\n"}, nil},
		{"commit ssl cert f", []string{"No ongoing transaction! !\nCan't commit f!\n"}, ErrRefused},
		{"abort ssl cert f", []string{"No ongoing transaction!\n"}, ErrRefused},
		{"del ssl cert f", []string{"Certificate 'f' deleted!\n"}, nil},
		{"del ssl cert f", []string{"Can't remove the certificate: certificate 'f' doesn't exist!\n\n"}, ErrRefused},
		{"add ssl crt-list a b", []string{"Can't edit the crt-list: crt-list 'a' does not exist!\n"}, ErrRefused},
	} {
		for _, text := range c.texts {
			got := judge(c.command, text)
			if !errors.Is(got, c.want) || c.want == nil && got != nil {
				t.Errorf("%s: %q: %v, want %v", c.command, text, got, c.want)
			}
			if c.want != nil && !strings.Contains(got.Error(), strings.TrimSpace(text)[:10]) {
				t.Errorf("%s: %v does not say what HAProxy said: %q", c.command, got, text)
			}
		}
	}
	if err := judge("foo", "Unknown command\n"+strings.Repeat("help\n", 10000)); len(err.Error()) > 1000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// The same on the running versions, in an order that makes each answer come.
func TestJudgeLive(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.configure("backend static from dd\n balance source\nbackend away from dd\n server s1 192.0.2.1:1 disabled\n server s2 192.0.2.1:1 disabled\n")
		m.start()
		r := m.dial()
		file := m.path("m.map")
		pair := pemPair(t)
		cert := m.path("x.pem")
		newOnly := func(err error) error {
			if v.name == "old" {
				return ErrUnknownCommand
			}
			return err
		}
		for _, c := range []struct {
			line string
			want error
		}{
			{"set server b/s1 addr 127.0.0.9 port 80", nil},
			{"set server b/s1 addr 127.0.0.9 port 80", nil},
			{"set server b/s1 addr 127.0.0.9 port 81", nil},
			{"set server b/s1 addr 127.0.0.8 port 81", nil},
			{"set server b/s1 addr 127.0.0.8", nil},
			{"set server b/s1 addr ::1 port 81", nil},
			{"set server b/s1 addr 127.0.0.300", ErrInvalidAddress},
			{"set server b/s1 addr 127.0.0.1 port abc", ErrInvalidAddress},
			{"set server b/s1 addr", ErrRefused},
			{"set server b/u1 addr 127.0.0.1 port 1", ErrRefused},
			{"set server b/h1 addr 127.0.0.1 port 1", ErrRefused},
			{"set server b/s1 weight 50", nil},
			{"set server b/s1 weight 257", ErrRefused},
			{"set server b/s1 weight x", ErrRefused},
			{"set server b/s1 state ready", nil},
			{"set server b/s1 state drain", nil},
			{"set server b/s1 weight 3", nil},
			{"set server b/s1 state maint", nil},
			{"set server b/s1 state nope", ErrRefused},
			{"set server none/s1 state ready", ErrNoSuchBackend},
			{"set server b/none state ready", ErrNoSuchServer},
			{"set server b state ready", ErrRefused},
			{"show servers state none", ErrNoSuchBackend},
			{"show servers state b", nil},
			{"show map " + m.path("none.map"), ErrNoSuchMap},
			{"show map " + file, nil},
			{"enable health b/s4", nil},
			{"enable health b/s1", ErrRefused},
			{"enable health none/s1", ErrNoSuchBackend},
			{"enable health b/none", ErrNoSuchServer},
			{"add server b/new 127.0.0.1:1 id 100 check inter 2s weight 100", nil},
			{"enable health b/new", nil},
			{"add server b/new 127.0.0.1:1", ErrExists},
			{"add server b/other 127.0.0.1:1 id 100", ErrExists},
			{"add server none/new 127.0.0.1:1", ErrNoSuchBackend},
			{"add server static/new 127.0.0.1:1", ErrStatic},
			{"add server b/other 127.0.0.1:1 foo", ErrRefused},
			{"set server b/new state ready", nil},
			{"del server b/new", ErrInUse},
			{"set server b/new state maint", nil},
			{"del server b/new", nil},
			{"del server b/new", ErrNoSuchServer},
			{"del server none/new", ErrNoSuchBackend},
			{"del server away/s1", nil}, // one of the configuration's
			{"set map " + file + " /a c", nil},
			{"set map " + file + " /none c", ErrNoSuchEntry},
			{"set map " + m.path("none.map") + " /a c", ErrNoSuchMap},
			{"add map " + file + " /c d", nil},
			{"del map " + file + " /c", nil},
			{"del map " + file + " /c", ErrNoSuchEntry},
			{"add map @7 " + file + " /c d", ErrRefused},
			{"commit map @7 " + file, ErrRefused},
			{"prepare map " + file, nil},
			{"add map @1 " + file + " /c d", nil},
			{"commit map @1 " + file, nil},
			{"clear map " + file, nil},
			{"prepare map " + m.path("none.map"), ErrNoSuchMap},
			{"new ssl cert " + cert, nil},
			{"new ssl cert " + cert, ErrExists},
			{"set ssl cert " + cert + " PAYLOAD", nil},
			{"set ssl cert " + cert + " PAYLOAD", nil},
			{"commit ssl cert " + cert, nil},
			{"commit ssl cert " + cert, ErrRefused},
			{"set ssl cert " + m.path("none.pem") + " PAYLOAD", ErrRefused},
			{"set ssl cert " + cert + " PAYLOAD", nil},
			{"abort ssl cert " + cert, nil},
			{"abort ssl cert " + cert, ErrRefused},
			{"del ssl cert " + cert, nil},
			{"del ssl cert " + cert, ErrRefused},
			{"add ssl crt-list none x", ErrRefused},
			{"foo bar", ErrUnknownCommand},
			{"wait 1ms", newOnly(nil)},
			{"wait 1ms srv-removable b/none", newOnly(ErrNoSuchServer)},
			{"add backend dyn from dd", newOnly(nil)},
			{"add backend dyn from dd", newOnly(ErrExists)},
			{"add backend dyn2 from none", newOnly(ErrRefused)},
			{"publish backend dyn", newOnly(nil)},
			{"publish backend none", newOnly(ErrNoSuchBackend)},
			{"del backend dyn", newOnly(ErrInUse)},
			{"unpublish backend dyn", newOnly(nil)},
			{"del backend dyn", newOnly(nil)},
			{"del backend b", newOnly(ErrRefused)},
		} {
			command := Command{Line: c.line}
			if line, ok := strings.CutSuffix(c.line, " PAYLOAD"); ok {
				command = Command{line, pair}
			}
			replies, err := r.DoCommands(within(t, 5*time.Second), []Command{command})
			if err != nil {
				t.Fatalf("%s: %v", c.line, err)
			}
			if got := replies[0].Err; !errors.Is(got, c.want) || c.want == nil && got != nil {
				t.Errorf("%s: %v, want %v; HAProxy says %.300q", c.line, got, c.want, replies[0].Text)
			}
		}
	})
}

// pemPair is a certificate and its key, as lines.
func pemPair(t *testing.T) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"x.example"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// A server with a request under way cannot be removed until the request has ended.
func TestAServerInUseIsNotRemoved(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := newMachine(t, v)
		m.start()
		r := m.dial()
		l, err := net.Listen("tcp", loopback()+":18081")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		must(t, r, "add server b/busy "+l.Addr().String()+" weight 256", "set server b/busy state ready", "set server b/s3 state maint",
			"set server b/v6 state maint", "set server b/u1 state maint", "set server b/s5 state maint")
		client, err := net.Dial("tcp", m.address+":18080")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(5 * time.Second))
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		must(t, r, "set server b/busy state maint")
		if reply := do(t, r, "del server b/busy")[0]; !errors.Is(reply.Err, ErrInUse) {
			t.Errorf("del server: %q, %v", reply.Text, reply.Err)
		} else {
			t.Logf("%q", reply.Text)
		}
		_ = server.Close()
		eventually(t, "the server is removed", func() bool { return do(t, r, "del server b/busy")[0].Err == nil })
	})
}
