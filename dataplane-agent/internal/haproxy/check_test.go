package haproxy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const fine = "defaults\n" + timeouts + "frontend f\n bind 127.0.0.1:18082\n default_backend b\nbackend b\n server s1 127.0.0.1:1\n"

// HAProxy's verdict on a configuration is told from what is not the configuration's fault.
func TestCheck(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		dir := t.TempDir()
		path := filepath.Join(dir, "haproxy.cfg")
		for _, c := range []struct {
			name, text string
			want       error
			words      string
			line       int
		}{
			{"a good one", fine, nil, "", 0},
			{"an unknown keyword", fine + " foo bar\n", ErrRejected, "unknown keyword 'foo'", 11},
			{"a backend that is not there", strings.Replace(fine, "default_backend b", "default_backend c", 1), ErrRejected, "unable to find required default_backend", 0},
			{"an empty one", "global\n", ErrRejected, "will not start (no listener)", 0},
			{"a certificate that is not there", fine + "frontend g\n bind :1 ssl crt /nonexistent.pem\n", ErrStart, "unable to stat SSL certificate", 12},
			{"a user that is not there", "global\n user nobody-of-that-name\n" + fine, ErrRejected, "cannot find user id", 2},
			{"a name that does not resolve", fine + " server s2 name.invalid:80\n", ErrStart, "could not resolve", 11},
		} {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Examine(within(t, 10*time.Second), v.binary, path)
			if !errors.Is(err, c.want) || c.want == nil && err != nil || c.want != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.words)
			}
			if c.line > 0 && (len(r.Alerts) == 0 || r.Alerts[0].Line != c.line || r.Alerts[0].File != path) {
				t.Errorf("%s: %+v; want it at line %d", c.name, r.Alerts, c.line)
			}
		}
		if err := Check(within(t, 5*time.Second), v.binary, filepath.Join(dir, "none.cfg")); !errors.Is(err, ErrStart) {
			t.Errorf("no file: %v", err)
		}
	})
}

// A configuration that HAProxy takes and does not like is taken, with the warning.
func TestExamineKeepsWarnings(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		path := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(path, []byte(strings.Replace(fine, " timeout client 5s\n", "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Examine(within(t, 5*time.Second), v.binary, path)
		if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "missing timeouts for frontend 'f'") || r.Took <= 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// What is not HAProxy's verdict is never ErrRejected, which would be remembered.
func TestCheckThatCannotBeMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scripts := 0
	script := func(text string) string {
		scripts++
		path := filepath.Join(dir, "haproxy"+strconv.Itoa(scripts))
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, binary string
		want         error
	}{
		{"no binary", filepath.Join(dir, "none"), ErrStart},
		{"a killed one", script("kill -9 $$\n"), ErrStart},
		{"one that lacks a library", script("echo 'error while loading shared libraries: libcrypto.so.3' >&2; exit 127\n"), ErrStart},
		{"no memory", script("true; echo 'Lua init: not enough memory.' >&2; exit 1\n"), ErrResources},
		{"no file descriptors", script("cat <<E >&2\n[ALERT]    (7) : [haproxy.main()] Cannot raise FD limit to 8034, limit is 50.\nE\nexit 1\n"), ErrResources},
		{"a full disk", script("cat <<E >&2\n[ALERT]    (7) : config : cannot write: No space left on device\nE\nexit 1\n"), ErrResources},
	} {
		err := Check(within(t, 5*time.Second), c.binary, "x.cfg")
		if !errors.Is(err, c.want) || errors.Is(err, ErrRejected) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	// Its child holds the pipe when it is killed.
	if err := Check(ctx, script("sleep 20\n"), "x.cfg"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrRejected) {
		t.Errorf("one that hangs: %v", err)
	}
}

// A HAProxy that writes without end fills no memory, and what it says first is kept.
func TestOutputIsBounded(t *testing.T) {
	script := filepath.Join(t.TempDir(), "haproxy")
	text := "#!/bin/sh\necho '[ALERT]    (1) : config : parsing [/x/haproxy.cfg:7] : no'\nyes spam | head -c 8000000\nyes spam | head -c 8000000 >&2\nexit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := run(within(t, 20*time.Second), script)
	if len(out) > maxOutput || err == nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	r, err := Examine(within(t, 20*time.Second), script, "/x/haproxy.cfg")
	if !errors.Is(err, ErrRejected) || len(r.Alerts) == 0 || !strings.Contains(err.Error(), "haproxy.cfg:7") {
		t.Errorf("%d alerts, %v", len(r.Alerts), err)
	}
}
