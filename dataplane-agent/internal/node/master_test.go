package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-proxy/berth/dataplane-agent/internal/haproxy"
)

func TestTheMasterIsRemembered(t *testing.T) {
	dir := t.TempDir()
	if got := recallMaster(dir); !got.IsZero() {
		t.Errorf("nothing was remembered, and %v is recalled", got)
	}
	self, err := haproxy.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := rememberMaster(dir, self); err != nil {
		t.Fatal(err)
	}
	if got := recallMaster(dir); got != self || !got.Alive() {
		t.Errorf("recalled %v, want %v", got, self)
	}
	path := filepath.Join(dir, masterFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"another boot": strings.Replace(string(text), boot(), "0c0ffee0", 1), "nothing": "", "a part": strings.Fields(string(text))[0], "noise": "\x00\xff\x01 a b",
	} {
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := recallMaster(dir); !got.IsZero() {
			t.Errorf("%s: %v is recalled", name, got)
		}
	}
}
