package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

func backendLines(b desired.Backend) []snapshot.Line {
	s := b.Settings
	balance := s.Balance
	if balance == "" {
		balance = desired.RoundRobin
	}
	lines := []snapshot.Line{{"balance", string(balance)}}
	if balance == desired.Source || balance == desired.URI {
		lines = append(lines, snapshot.Line{"hash-type", "consistent"}) // servers can be added to such a backend at run time
	}
	lines = append(lines, snapshot.Line{"http-request", "disable-l7-retry", "unless", "METH_GET", "or", "METH_OPTIONS"}) // METH_GET is HEAD too
	for _, t := range []struct{ name, value string }{
		{"connect", string(s.TimeoutConnect)}, {"server", string(s.TimeoutServer)}, {"queue", string(s.TimeoutQueue)},
	} {
		if t.value != "" {
			lines = append(lines, snapshot.Line{"timeout", t.name, t.value})
		}
	}
	if s.Protocol.TLS() { // an address is no server name
		lines = append(lines, snapshot.Line{"http-request", "set-var(txn.sni)", "var(txn.host)", "unless", "{", "var(txn.host)", "-m", "reg", "^[0-9.]*$|:", "}"})
	}
	if s.Affinity == desired.AffinityCookie {
		lines = append(lines, affinityLines(b)...)
	}
	if s.Check.Kind == desired.CheckHTTP {
		lines = append(lines, snapshot.Line{"option", "httpchk"})
		if s.Protocol == desired.H2 { // a check that only takes over what the server line says gets no answer on 2.6
			lines = append(lines, snapshot.Line{"http-check", "connect", "ssl", "alpn", "h2", "sni", serviceHost(b)})
		}
		lines = append(lines,
			snapshot.Line{"http-check", "send", "meth", "GET", "uri", s.Check.Path, "ver", "HTTP/1.1", "hdr", "host", serviceHost(b)})
	}
	return lines
}

// affinityLines let HAProxy derive a pod's cookie from its address and port and a key: the pod has the same one in every slot, on every node and after a reload. The
// key is that of the service port, so that its backends agree, and says nothing that the names in the configuration do not say.
func affinityLines(b desired.Backend) []snapshot.Line {
	sum := sha256.Sum256([]byte("berth affinity " + strings.TrimSuffix(b.Name, b.Settings.Suffix())))
	digest := hex.EncodeToString(sum[:])
	name := b.Settings.CookieName
	if name == "" {
		name = "berth_" + digest[:8] // not one name for all: services that share a host would overwrite each other's
	}
	return []snapshot.Line{
		{"cookie", name, "insert", "indirect", "nocache", "httponly", "dynamic"},
		{"dynamic-cookie-key", digest[8:40]},
		{"http-after-response", "replace-header", "set-cookie", "^(" + strings.ReplaceAll(name, ".", "[.]") + "=.*)", `\1; Secure`, "if", "{", "ssl_fc", "}"},
	}
}

// serviceHost is what a check calls the service that it asks.
func serviceHost(b desired.Backend) string {
	return b.Service.Name + "." + b.Service.Namespace + ".svc"
}

func serverOptions(b desired.Backend) []string {
	options := protocolOptions(b.Settings.Protocol)
	if n := b.Settings.MaxConnections; n > 0 {
		options = append(options, "maxconn", strconv.Itoa(n))
	}
	return append(options, checkOptions(b)...)
}

// protocolOptions encrypt without verifying: no authority is known that would vouch for a pod's address. The server name is the host that was asked for, which http-reuse takes
// into account: no connection is used for another name than it was made for.
func protocolOptions(p desired.Protocol) []string {
	encrypted := []string{"ssl", "verify", "none", "ssl-min-ver", "TLSv1.2", "sni", "var(txn.sni)"}
	switch p {
	case desired.H2C:
		return []string{"proto", "h2"}
	case desired.HTTPS:
		return append(encrypted, "alpn", "http/1.1")
	case desired.H2:
		return append(encrypted, "alpn", "h2", "proto", "h2")
	default:
		return nil
	}
}

// checkOptions has no init-state: with it, a server that is set ready would wait for its first check before it takes traffic.
func checkOptions(b desired.Backend) []string {
	s := b.Settings
	if s.Check.Kind == "" || s.Check.Kind == desired.CheckNone {
		return nil
	}
	interval := s.CheckInterval
	if interval == "" {
		interval = desired.DefaultCheckInterval
	}
	options := []string{"check", "inter", string(interval), "fall", "3", "rise", "2"}
	if s.Protocol.TLS() {
		options = append(options, "check-sni", serviceHost(b))
	}
	return options
}
