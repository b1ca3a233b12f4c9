package render

import (
	"strconv"

	"github.com/berth-proxy/berth/api/snapshot"
)

// ServerName is the name of the server of a slot: s1 for index 0.
func ServerName(index int) string { return "s" + strconv.Itoa(index+1) }

// ServerIndex is the slot that a server's name stands for, and whether the name is one of ours.
func ServerIndex(name string) (int, bool) {
	if len(name) < 2 || name[0] != 's' || name[1] < '1' || name[1] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(name[1:], 10, 31)
	if err != nil {
		return 0, false
	}
	return int(n) - 1, true
}

// ServerAddress is the address and port of a slot's server as HAProxy reads them, an IPv6 address in brackets.
func ServerAddress(s snapshot.Slot) string { return string(appendAddress(nil, s)) }

// ServerWeight is the weight of a slot's server: a draining one gets no new clients, a free one has the usual weight for whoever comes.
func ServerWeight(s snapshot.Slot) int {
	switch s.State {
	case snapshot.Ready:
		return int(s.Weight)
	case snapshot.Drain:
		return 0
	default:
		return snapshot.DefaultWeight
	}
}

// Server returns the words of a server line.
func Server(index int, s snapshot.Slot, options []string) snapshot.Line {
	l := make(snapshot.Line, 0, snapshot.ServerWords+len(options))
	l = append(l, "server", ServerName(index))
	l = appendPlace(l, index, s)
	if s.State == snapshot.Free {
		l = append(l, "disabled")
	}
	return append(l, options...)
}

// AddServer returns the words of the runtime command that adds the same server to a worker. The server starts in maintenance, and with a
// check it also needs `enable health`. Options that mean nothing to an added server and that HAProxy refuses are left out.
func AddServer(backend string, index int, s snapshot.Slot, options []string) snapshot.Line {
	l := make(snapshot.Line, 0, snapshot.ServerWords+len(options))
	l = append(l, "add", "server", backend+"/"+ServerName(index))
	l = appendPlace(l, index, s)
	return append(l, addable(options)...)
}

// appendPlace adds the words that a server has by its slot.
func appendPlace(l snapshot.Line, index int, s snapshot.Slot) snapshot.Line {
	return append(l, ServerAddress(s), "id", strconv.Itoa(index+1), "weight", strconv.Itoa(ServerWeight(s)))
}

// appendServer writes what Quote makes of Server, with the options already quoted, without making the words first.
func appendServer(b []byte, index int, s snapshot.Slot, options []byte) []byte {
	b = append(b, "server s"...)
	b = strconv.AppendInt(b, int64(index)+1, 10)
	b = append(b, ' ')
	b = appendAddress(b, s)
	b = append(b, " id "...)
	b = strconv.AppendInt(b, int64(index)+1, 10)
	b = append(b, " weight "...)
	b = strconv.AppendInt(b, int64(ServerWeight(s)), 10)
	if s.State == snapshot.Free {
		b = append(b, " disabled"...)
	}
	return append(b, options...)
}

func appendAddress(b []byte, s snapshot.Slot) []byte { return s.Server().AppendTo(b) }

// refused are the options that `add server` does not take, with the number of values that follow each. All of them are about finding an
// address by name or about the state at the start, of which an added server with an address has neither.
var refused = map[string]int{
	"enabled": 0, "disabled": 0, "resolvers": 1, "resolve-prefer": 1, "resolve-net": 1, "resolve-opts": 1, "init-addr": 1,
}

// free are the options followed by a value that may be any text, even the name of another option.
var free = map[string]bool{
	"agent-send": true, "alpn": true, "ca-file": true, "check-alpn": true, "check-sni": true, "ciphers": true, "ciphersuites": true,
	"cookie": true, "crl-file": true, "crt": true, "curves": true, "guid": true, "hash-key": true, "namespace": true, "npn": true,
	"pool-conn-name": true, "redir": true, "set-proxy-v2-tlv-fmt": true, "sigalgs": true, "sni": true, "track": true,
	"verifyhost": true,
}

// addable returns the options without the refused ones.
func addable(options []string) []string {
	var out []string
	for i := 0; i < len(options); i++ {
		o := options[i]
		if values, ok := refused[o]; ok {
			i += values
			continue
		}
		out = append(out, o)
		if free[o] && i+1 < len(options) {
			i++
			out = append(out, options[i])
		}
	}
	return out
}
