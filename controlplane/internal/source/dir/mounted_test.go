package dir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// DIR-6: a volume that is mounted late is one change, also when one of its files was written a moment ago: without that file the others would say that its objects are gone.
func TestDIR6ALateMountIsOneBatch(t *testing.T) {
	for name, mount := range map[string]func(root, volume string) error{
		"behind a symlink": func(root, volume string) error { return os.Symlink(volume, root) },
		"in its place":     func(root, volume string) error { return os.Rename(volume, root) },
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			root, volume := filepath.Join(top, "objects"), filepath.Join(top, "volume")
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			check(os.Mkdir(root, 0o750))
			r := newReader("test", root, time.Hour, func(string) {})
			now := time.Now().Add(Rest)
			if b, _ := r.pass(now); b == nil || !b.Full || len(b.Put) > 0 {
				t.Fatalf("the first list is %+v", b)
			}
			check(os.MkdirAll(volume, 0o750))
			for i, name := range []string{"old.yaml", "young.yaml"} {
				path := filepath.Join(volume, name)
				check(put(path, serviceText("web-"+name[:3], i+1)))
				check(os.Chtimes(path, now, now.Add(time.Duration(i-1)*time.Minute)))
			}
			check(os.Rename(root, root+".empty"))
			check(mount(root, volume))
			r.walkAt = now
			if b, _ := r.pass(now); b != nil && len(b.Put) > 0 {
				t.Errorf("half of it is delivered: %+v", b.Put)
			}
			if b, _ := r.pass(now.Add(2 * Rest)); b == nil || len(b.Put) != 2 {
				t.Errorf("when all of it rests, %+v is delivered", b)
			}
		})
	}
}
