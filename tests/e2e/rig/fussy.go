package rig

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-proxy/berth/tests/harness"
)

// Fussy makes an HAProxy that refuses a configuration which has a certain text, when it is asked to check it, and is otherwise the real one. What Berth itself would
// refuse never gets that far, so that this stands for what nobody thought of.
func Fussy(t harness.T, h harness.HAProxy, text string) harness.HAProxy {
	t.Helper()
	path := filepath.Join(t.TempDir(), "haproxy")
	script := fmt.Sprintf(`#!/bin/sh
case " $* " in *" -c "*)
	for word; do
		if [ -f "$word" ] && grep -q '%[2]s' "$word"; then
			echo "[ALERT]    (1) : config : parsing [$word:7] : '%[2]s' is not to this HAProxy's taste." >&2
			echo "[ALERT]    (1) : config : Fatal errors found in configuration." >&2
			exit 1
		fi
	done
esac
exec %[1]s "$@"
`, h.Path, text)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatalf("write the fussy HAProxy: %v", err)
	}
	h.Path = path
	return h
}
