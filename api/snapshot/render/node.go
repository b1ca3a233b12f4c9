package render

import "github.com/berth-proxy/berth/api/snapshot"

// ProbeBackend is a backend of the node's own, which no request reaches: a new worker is tried out on it.
const ProbeBackend = "berth_probe"

// Description is what a worker says of itself (`show info`) that was started with this structure, so that whoever meets it later knows what it runs.
func Description(structure snapshot.Digest) string { return "berth structure " + structure.String() }

// NodeMachine is the Machine of a node that runs this revision: DefaultMachine with what the agent needs to drive the worker. folder is where the
// configuration is written: the state directory, or a folder for one that is only checked; certificates are always those of the state directory.
func NodeMachine(s Settings, folder string, rev *snapshot.Revision) Machine {
	state := s.StateDir
	s.StateDir = folder
	m := DefaultMachine(s)
	m.CertificateFile = func(c *snapshot.Certificate) string { return state + "/" + CertificateFile(c) }
	m.DefaultCertificate = state + "/" + DefaultCertificate
	m.Global = append(m.Global,
		// The agent keeps one connection open for as long as the worker lives; the default would end it after 10 s of quiet. It is not longer than minutes, as a
		// client that left with answers unread may keep its place until then, and there are more places than the ten of the default for that reason.
		snapshot.Line{"stats", "timeout", "10m"},
		snapshot.Line{"stats", "maxconn", "100"},
		snapshot.Line{"description", Description(rev.StructureDigest())})
	m.Backends = []*snapshot.Backend{{Name: ProbeBackend, Defaults: defaults(rev), Lines: []snapshot.Line{
		{"mode", "http"}, {"balance", "roundrobin"}, {"timeout", "connect", "1s"}, {"timeout", "server", "1s"},
	}}}
	return m
}

// defaults is the name of the revision's first defaults section: HAProxy warns of a backend that uses one without saying so.
func defaults(rev *snapshot.Revision) string {
	for s := range snapshot.Of[*snapshot.Section](rev, snapshot.KindSection) {
		if s.Type == "defaults" {
			return s.Name
		}
	}
	return ""
}
