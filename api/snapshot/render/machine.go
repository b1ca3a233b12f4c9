package render

import (
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
)

// The files that are rendered, relative to the state directory.
const (
	ConfigFile         = "haproxy.cfg"
	MapFolder          = "maps/"
	CertificateList    = "certs/crt-list"
	DefaultCertificate = "certs/default.pem"
	WorkerSocket       = "worker.sock"
)

// MapFile is the file of a map, which is also the name by which the worker knows it.
func MapFile(name string) string { return MapFolder + name + ".map" }

// CertificateFile is the file of a certificate where the machine has no other idea: named by its content, so that a file once written
// never changes.
func CertificateFile(x *snapshot.Certificate) string { return "certs/" + x.Content.String() + ".pem" }

// Machine is what a rendered configuration owes to the machine that it is for. It is in no digest.
type Machine struct {
	// Global are the first lines of the section global.
	Global []snapshot.Line
	// Binds are the bind lines of a frontend, by its name.
	Binds map[string][]snapshot.Line
	// Backends are the machine's own. They stand behind those of the Revision.
	Backends []*snapshot.Backend
	// CertificateFile says where a certificate's chain and key are; nil means CertificateFile of this package.
	CertificateFile func(*snapshot.Certificate) string
	// DefaultCertificate is the file of the certificate that is shown for names that no other has. Without it there is no list of
	// certificates, and no bind line may name one.
	DefaultCertificate string
}

// Settings are what a node with nothing unusual is asked for.
type Settings struct {
	// StateDir is the absolute path that all files of the configuration are relative to.
	StateDir string
	// HTTPPort and HTTPSPort are where the frontend "web" listens; 0 means not at all.
	HTTPPort, HTTPSPort int
	// BindAddress is an IP address; empty means all.
	BindAddress string
	// IPv4Only is for machines without IPv6, when all addresses are meant.
	IPv4Only bool
	// MaxConn and Threads are left to HAProxy if zero.
	MaxConn, Threads int
}

// DefaultMachine is the Machine of a node that runs HAProxy from these settings: agent and berthctl share it, so that what is shown
// is what runs.
func DefaultMachine(s Settings) Machine {
	m := Machine{
		Global: []snapshot.Line{
			{"default-path", "origin", s.StateDir},
			{"stats", "socket", s.StateDir + "/" + WorkerSocket, "mode", "600", "level", "admin"},
			{"ssl-default-bind-options", "ssl-min-ver", "TLSv1.2"},
		},
		CertificateFile:    CertificateFile,
		DefaultCertificate: DefaultCertificate,
	}
	if s.MaxConn > 0 {
		m.Global = append(m.Global, snapshot.Line{"maxconn", strconv.Itoa(s.MaxConn)})
	}
	if s.Threads > 0 {
		m.Global = append(m.Global, snapshot.Line{"nbthread", strconv.Itoa(s.Threads)})
	}
	var web []snapshot.Line
	if s.HTTPPort > 0 {
		web = append(web, s.bind(s.HTTPPort))
	}
	if s.HTTPSPort > 0 {
		web = append(web, append(s.bind(s.HTTPSPort), "ssl", "crt-list", CertificateList, "alpn", "h2,http/1.1"))
	}
	m.Binds = map[string][]snapshot.Line{"web": web}
	return m
}

func (s Settings) bind(port int) snapshot.Line {
	switch {
	case strings.Contains(s.BindAddress, ":"):
		return snapshot.Line{"bind", "[" + s.BindAddress + "]:" + strconv.Itoa(port)}
	case s.BindAddress != "":
		return snapshot.Line{"bind", s.BindAddress + ":" + strconv.Itoa(port)}
	case s.IPv4Only:
		return snapshot.Line{"bind", "*:" + strconv.Itoa(port)}
	default:
		return snapshot.Line{"bind", ":::" + strconv.Itoa(port), "v4v6"}
	}
}
