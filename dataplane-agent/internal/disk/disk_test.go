package disk_test

import (
	"errors"
	"os"
	"path/filepath"
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

func TestALockIsHeldByOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := disk.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Lock(path); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := disk.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
