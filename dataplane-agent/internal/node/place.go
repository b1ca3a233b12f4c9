package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
	"github.com/berth-proxy/berth/dataplane-agent/internal/plan"
)

// Lock is the node's hold on its state directory.
type Lock interface {
	// Hold sees to it that nobody else has the state directory: disk.ErrLocked says that somebody has taken it over.
	Hold() error
}

// place is what was last seen of the state directory.
type place struct {
	// certificates is when something in their folder changed last, compare that their files have not been compared since.
	certificates time.Time
	compare      bool
	// gone is since when a socket's file is missing or leads nowhere, zero if none does; refused says that it leads nowhere.
	gone    time.Time
	refused bool
}

// compared says whether the files of certificates are to be compared now.
func (p *place) compared() bool {
	compare := p.compare
	p.compare = false
	return compare
}

// watchPlace looks, at a few files, whether somebody has emptied the state directory under a HAProxy that runs. Everything that the node knows it puts back; the sockets
// come back with a reload, as only HAProxy can make them; what it does not know, the certificates, the plane is asked for. It fails if another agent has taken the
// directory over.
func (n *Node) watchPlace(now time.Time) error {
	if n.lock != nil {
		if err := n.lock.Hold(); errors.Is(err, disk.ErrLocked) {
			return err //nolint:wrapcheck // Run says what it means.
		}
	}
	if n.master.Alive() && gone(filepath.Join(n.cfg.Settings.StateDir, masterFile)) {
		_ = rememberMaster(n.cfg.Settings.StateDir, n.master) // it is told at the start when that fails
	}
	if n.loaded != nil && n.filesBehind.IsZero() && n.task == nil && gone(n.files.Config()) {
		n.log.Warn().Str("file", n.files.Config()).Msg("the configuration on disk is gone; it is written anew")
		n.drifted(1)
		n.restoreFiles(now)
	}
	if info, err := os.Stat(filepath.Join(n.cfg.Settings.StateDir, "certs")); err != nil || !info.ModTime().Equal(n.place.certificates) {
		n.place.certificates = time.Time{}
		if err == nil {
			n.place.certificates = info.ModTime()
		}
		n.place.compare, n.audited = true, time.Time{} // at once
	}
	if n.held.Revision.Len() > 0 && n.journal.Gone() {
		n.journal.Replace(n.held)
	}
	n.watchSockets(now)
	return nil
}

// watchSockets has HAProxy make its sockets anew when their files are gone for good.
func (n *Node) watchSockets(now time.Time) {
	missing := gone(n.cfg.masterSocket()) || gone(n.files.Socket()) || n.worker == nil && n.place.refused
	switch {
	case !missing || n.down || n.reloading():
		n.place.gone = time.Time{}
	case n.place.gone.IsZero():
		n.place.gone = now
	case now.Sub(n.place.gone) >= n.cfg.SocketGone && n.repair != plan.Repair:
		n.log.Warn().Msg("a socket of HAProxy is gone, or leads nowhere; a reload makes it anew")
		n.drifted(1)
		n.repair = plan.Repair
	}
}

// gone says whether there is no such file.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// lostCertificates looks in a task for certificates of a revision whose files are gone, and puts the default certificate back.
func (n *Node) lostCertificates(rev *snapshot.Revision) []*snapshot.Certificate {
	_ = n.certs.Default() // the reload that needs it tells
	lost := slices.Collect(snapshot.Of[*snapshot.Certificate](rev, snapshot.KindCertificate))
	return slices.DeleteFunc(lost, n.certs.Has)
}

// certificatesLost takes up that files of certificates are gone: the plane is greeted anew and sends them again.
func (n *Node) certificatesLost() {
	before := n.held.Revision
	n.certificatesThere()
	if n.held.Revision == before {
		return
	}
	n.planned = planned{}
	if n.loaded != nil {
		n.delta = snapshot.DiffRevisions(n.loaded, n.held.Revision)
	}
	n.journal.Replace(n.held)
	n.publishHello() // who greets now says what is true now
	n.box.Greet()
}
