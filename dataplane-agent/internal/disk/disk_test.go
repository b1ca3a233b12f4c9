package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-proxy/berth/dataplane-agent/internal/disk"
)

func TestDISK1_AFileIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	for _, text := range []string{"first, and longer", "second"} {
		if err := disk.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestDISK2_AFailedWriteLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "by-a-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.Write(path, []byte("x"), 0o600); !errors.Is(err, disk.ErrWrite) {
		t.Fatalf("error %v, want ErrWrite", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("folder holds %v, %v", names, err)
	}
	if err := disk.Write(filepath.Join(dir, "gone", "x"), nil, 0o600); !errors.Is(err, disk.ErrWrite) {
		t.Errorf("error %v, want ErrWrite", err)
	}
}

func TestAnUnchangedFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "maps")
	if err := disk.WriteChanged(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)
	if err := disk.WriteChanged(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(path)
	if !os.SameFile(before, after) {
		t.Error("the file was written again")
	}
}

func TestDISK4_ALockIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "lock")
	if _, err := disk.NewLock(path); !errors.Is(err, disk.ErrWrite) {
		t.Errorf("a lock in no folder: %v", err)
	}
	if err := disk.MakeDir(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	take := func() *disk.Lock {
		t.Helper()
		l, err := disk.NewLock(path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	refused := func(when string) {
		t.Helper()
		if _, err := disk.NewLock(path); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("a second lock %s: %v", when, err)
		}
	}
	first := take()
	refused("while the first holds")
	for _, remove := range []string{path, filepath.Dir(path)} {
		if err := os.RemoveAll(remove); err != nil {
			t.Fatal(err)
		}
		if err := first.Hold(); err != nil {
			t.Fatal(err)
		}
		refused("after its file was gone")
	}
	// Who comes before the first has noticed has the lock, and the first learns it.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second := take()
	for range 2 {
		if err := first.Hold(); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("two hold a lock: %v", err)
		}
	}
	if err := second.Hold(); err != nil {
		t.Error(err)
	}
	first.Release()
	refused("while the second holds")
	second.Release()
	take().Release()
}

// DISK-3: a disk that stays full is one line in a log, and one Failed to the plane.
func TestDISK3_TheSameTroubleHasTheSameText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.MkdirAll(filepath.Join(path, "a-folder-is-in-its-place"), 0o700); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(t.TempDir(), "gone", "haproxy.cfg")
	for _, path := range []string{path, full} {
		first, second := disk.Write(path, []byte("x"), 0o600), disk.Write(path, []byte("x"), 0o600)
		if first == nil || second == nil || first.Error() != second.Error() {
			t.Errorf("two writes fail with\n%v\n%v", first, second)
		}
		if !errors.Is(first, disk.ErrWrite) || !errors.Is(first, syscall.ENOENT) && !errors.Is(first, syscall.EEXIST) && !errors.Is(first, syscall.EISDIR) {
			t.Errorf("the cause is lost: %v", first)
		}
	}
}

// DISK-2: a key that was being written when the agent was killed does not stay on the disk for ever.
func TestDISK2_WhatAKilledProcessHasLeftGoes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "certs"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range []string{"haproxy.cfg", ".own", "certs/a.pem", "certs/.own.unfinished.txt"} {
		write(kept)
	}
	for _, left := range []string{".haproxy.cfg.1234.unfinished", "certs/.b.pem.5678.unfinished"} {
		write(left)
	}
	if err := disk.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range []string{dir, filepath.Join(dir, "certs")} {
		files, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, f.Name())
		}
	}
	if got, want := strings.Join(names, " "), ".own certs haproxy.cfg .own.unfinished.txt a.pem"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	if err := disk.Sweep(filepath.Join(dir, "gone")); !errors.Is(err, disk.ErrWrite) {
		t.Errorf("error %v, want ErrWrite", err)
	}
}
