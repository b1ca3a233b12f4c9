package node

import (
	"errors"
	"fmt"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// certificatesThere drops from what is held the certificates whose files are gone: the plane sends them again.
func (n *Node) certificatesThere() {
	for c := range snapshot.Of[*snapshot.Certificate](n.held.Revision, snapshot.KindCertificate) {
		if n.certs.Has(c) {
			continue
		}
		n.log.Warn().Str("certificate", c.Name).Msg("the file of a certificate is gone; the plane is asked for the revision again")
		gone := snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{c.Key(): nil}}
		version := n.held.Revision.Version
		version.Number = max(version.Number, 1) - 1 // it is older than what the plane has sent
		n.held.Revision = n.held.Revision.Apply(gone, version)
		n.incomplete = true
		n.fail(aboutCertificates, fleetv1.Code_CODE_DISK,
			fmt.Errorf("the file of certificate %s is gone: %w; the plane is asked for it, and HAProxy goes on with what it has", c.Name, errLost), 0)
	}
}

// errLost says that a part of what is held is not on the disk any more.
var errLost = errors.New("somebody has removed it")

// keepCertificates puts the texts of the update's certificates into their files and takes them out of the update. Those that the disk does not take now
// are kept in memory until the reload that needs them: endpoints that change in the same update do not wait for a disk.
func (n *Node) keepCertificates(u wire.Update) (wire.Update, error) {
	for k, r := range u.Revision.Changes {
		c, ok := r.(*snapshot.Certificate)
		if !ok {
			continue
		}
		kept, err := n.certs.Keep(c)
		switch {
		case errors.Is(err, disk.ErrWrite):
			n.unkept[c.Content] = c
		case err != nil && n.unkept[c.Content] == nil:
			return u, err //nolint:wrapcheck // It names the certificate.
		}
		if kept == nil {
			without := *c
			without.PEM = nil
			kept = &without
		}
		u.Revision.Changes[k] = kept // the update is ours alone
	}
	return u, nil
}

// writeUnkept writes the certificates of a revision that could not be written before. Those that it does not name are forgotten.
func (n *Node) writeUnkept(rev *snapshot.Revision) error {
	if err := n.certs.Default(); err != nil {
		return err //nolint:wrapcheck // It names the file.
	}
	if len(n.unkept) == 0 {
		return nil
	}
	var failed error
	named := map[snapshot.Digest]bool{}
	for c := range snapshot.Of[*snapshot.Certificate](rev, snapshot.KindCertificate) {
		named[c.Content] = true
		waiting := n.unkept[c.Content]
		if waiting == nil || failed != nil {
			continue
		}
		if _, err := n.certs.Keep(waiting); err != nil {
			failed = fmt.Errorf("write certificate %s: %w", c.Name, err)
			continue
		}
		delete(n.unkept, c.Content)
	}
	for content := range n.unkept {
		if !named[content] && rev == n.held.Revision {
			delete(n.unkept, content)
		}
	}
	return failed
}
