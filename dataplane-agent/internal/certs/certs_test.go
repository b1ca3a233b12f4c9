package certs_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/dataplane-agent/internal/certs"
)

func open(t *testing.T) (*certs.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := certs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func certificate(text string) *snapshot.Certificate {
	return &snapshot.Certificate{Name: "shop/tls", ServerNames: []string{"a"}, Content: snapshot.PEMDigest([]byte(text)), PEM: []byte(text)}
}

func TestCERT1_AKeyExistsOnceAsAFileThatOnlyTheAgentReads(t *testing.T) {
	f, dir := open(t)
	c := certificate("key")
	kept, err := f.Keep(c)
	if err != nil {
		t.Fatal(err)
	}
	if kept.PEM != nil || kept.Content != c.Content || c.PEM == nil {
		t.Errorf("kept %+v of %+v", kept, c)
	}
	info, err := os.Stat(filepath.Join(dir, certs.File(kept)))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file %v, %v", info, err)
	}
	if !f.Has(kept) {
		t.Error("the folder does not find what it has kept")
	}
}

func TestCERT2_AnAlteredOrMissingFileIsMissing(t *testing.T) {
	f, dir := open(t)
	c := certificate("key")
	if _, err := f.Keep(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, certs.File(c)), []byte("altered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Has(c) {
		t.Error("an altered file counts as the certificate")
	}
	without := *c
	without.PEM = nil
	if _, err := f.Keep(&without); err == nil {
		t.Error("a certificate without text and file was taken")
	}
	lying := certificate("other")
	lying.Content = c.Content
	if _, err := f.Keep(lying); err == nil {
		t.Error("a text that has not the announced digest was taken")
	}
}

func TestCERT3_TheDefaultCertificateIsMadeOnceAndMendedWhenBroken(t *testing.T) {
	_, dir := open(t)
	path := filepath.Join(dir, certs.DefaultFile)
	if _, err := tls.LoadX509KeyPair(path, path); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(path)
	if _, err := certs.Open(dir); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); string(again) != string(first) {
		t.Error("a good default certificate was replaced")
	}
	certificate, _, _ := strings.Cut(string(first), "-----BEGIN PRIVATE KEY-----")
	for _, broken := range []string{"broken", "", certificate} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := certs.Open(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := tls.LoadX509KeyPair(path, path); err != nil {
			t.Errorf("a broken default certificate stays: %v", err)
		}
	}
}

// CERT-3 holds while the agent runs, too: somebody may empty the folder.
func TestCERT3_TheDefaultCertificateIsMadeAgainWhenItIsGone(t *testing.T) {
	f, dir := open(t)
	path := filepath.Join(dir, certs.DefaultFile)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := f.Default(); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(path, path); err != nil {
		t.Error(err)
	}
}

func TestPruneKeepsWhatARevisionNames(t *testing.T) {
	f, dir := open(t)
	kept, err := f.Keep(certificate("kept"))
	if err != nil {
		t.Fatal(err)
	}
	gone, err := f.Keep(certificate("gone"))
	if err != nil {
		t.Fatal(err)
	}
	r := snapshot.EmptyRevision().Apply(snapshot.RevisionDelta{Changes: map[snapshot.Key]snapshot.Resource{kept.Key(): kept}}, snapshot.Version{})
	if err := f.Prune(r); err != nil {
		t.Fatal(err)
	}
	if !f.Has(kept) || f.Has(gone) {
		t.Error("prune removed the wrong file")
	}
	if _, err := os.Stat(filepath.Join(dir, certs.DefaultFile)); err != nil {
		t.Error(err)
	}
}
