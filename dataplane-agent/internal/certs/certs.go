// Package certs keeps the certificates of a node as files: each key exists once on the node, in a file of mode 0600 that is named by the
// SHA-256 of its content, and the journal and everything in memory name it by that digest.
//
//	CERT-1  A file is there and whole before any configuration names it.
//	CERT-2  A file whose content is not its name's digest is as good as missing.
//	CERT-3  There is always a default certificate, made by the node itself, so that an HTTPS listener starts without any other.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
)

// DefaultFile is the path of the node's own certificate, relative to the state directory.
const DefaultFile = render.DefaultCertificate

// Folder is the certs folder of a state directory. One goroutine keeps and prunes; Has and Default may be called beside it.
type Folder struct {
	state string
}

// Open makes the folder, and the default certificate when there is none that can be used.
func Open(stateDir string) (*Folder, error) {
	f := &Folder{state: stateDir}
	return f, f.Default()
}

// Default sees to CERT-3. It costs little when the default certificate is there.
func (f *Folder) Default() error {
	path := filepath.Join(f.state, DefaultFile)
	if usable(path) {
		return nil
	}
	if err := disk.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	text, err := selfSigned(time.Now())
	if err != nil {
		return err
	}
	return disk.Write(path, text, 0o600)
}

// File is the path of a certificate, relative to the state directory.
func File(c *snapshot.Certificate) string { return render.CertificateFile(c) }

// Keep writes the certificate's text to its file and returns the certificate without it.
func (f *Folder) Keep(c *snapshot.Certificate) (*snapshot.Certificate, error) {
	kept := *c
	kept.PEM = nil
	if len(c.PEM) == 0 {
		if !f.Has(c) {
			return nil, fmt.Errorf("certificate %s: its text was not sent and %s is not there", c.Name, File(c))
		}
		return &kept, nil
	}
	if got := snapshot.PEMDigest(c.PEM); got != c.Content {
		return nil, fmt.Errorf("certificate %s: the text has the digest %s, announced was %s", c.Name, got.Short(), c.Content.Short())
	}
	return &kept, disk.WriteChanged(filepath.Join(f.state, File(c)), c.PEM, 0o600)
}

// Has says whether the certificate's file is there and holds what its name says.
func (f *Folder) Has(c *snapshot.Certificate) bool {
	text, err := os.ReadFile(filepath.Join(f.state, File(c)))
	return err == nil && snapshot.PEMDigest(text) == c.Content
}

// Prune removes the files that none of the revisions names. A file that cannot be removed is left for the next time.
func (f *Folder) Prune(revisions ...*snapshot.Revision) error {
	used := map[string]bool{filepath.Base(DefaultFile): true}
	for _, r := range revisions {
		for c := range snapshot.Of[*snapshot.Certificate](r, snapshot.KindCertificate) {
			used[filepath.Base(File(c))] = true
		}
	}
	files, err := os.ReadDir(filepath.Join(f.state, "certs"))
	if err != nil {
		return fmt.Errorf("list the certificates of %s: %w", f.state, err)
	}
	var errs []error
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".pem") || used[file.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(f.state, "certs", file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove an unused certificate: %w", err))
		}
	}
	return errors.Join(errs...)
}

func usable(path string) bool {
	text, err := os.ReadFile(path) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return false
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return false
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	return err == nil && time.Now().Before(c.NotAfter)
}

// selfSigned makes a certificate for no name in particular: a client that is shown it learns that nobody has configured the host.
func selfSigned(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the default certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make the default certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "Berth default certificate"},
		DNSNames:     []string{"default.berth.invalid"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the default certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the default certificate: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...), nil
}
