package haproxy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// VersionInfo is the version of a HAProxy binary.
type VersionInfo struct {
	Major, Minor int
	// Full is as HAProxy writes it: 2.6.12-1+deb12u4.
	Full string
	// Patch is 0 for a development version.
	Patch int
}

var versionPattern = regexp.MustCompile(`(?m)^HA-?Proxy version ((\d+)\.(\d+)(?:\.(\d+))?\S*)`)

// outputWithin is how long the output of a HAProxy that has ended is waited for.
const outputWithin = time.Second

// maxOutput is how much of the output of a HAProxy that ends by itself is kept: its beginning, where the first fault stands.
const maxOutput = 1 << 20

func run(ctx context.Context, binary string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // The operator names the binary.
	cmd.WaitDelay = outputWithin
	var out beginning
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.text, err //nolint:wrapcheck // The caller says what it was for.
}

// beginning keeps the first maxOutput bytes that are written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxOutput-len(b.text))]...)
	return len(p), nil
}

// versionWithin is how long a binary may take to say its version.
const versionWithin = 10 * time.Second

// Version asks the binary.
func Version(ctx context.Context, binary string) (VersionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	out, err := run(ctx, binary, "-v")
	if ctx.Err() != nil {
		return VersionInfo{}, fmt.Errorf("run %s -v: %w: %w", binary, ErrStart, ctx.Err())
	}
	if err != nil {
		return VersionInfo{}, fmt.Errorf("run %s -v: %w: %w", binary, ErrStart, err)
	}
	return parseVersion(string(out))
}

func parseVersion(text string) (VersionInfo, error) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return VersionInfo{}, fmt.Errorf("%.80q names no version of HAProxy: %w", text, ErrMalformed)
	}
	v := VersionInfo{Full: m[1]}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if m[i+2] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+2])
		if err != nil {
			return VersionInfo{}, fmt.Errorf("version %.40q: %w", m[1], ErrMalformed)
		}
		*to = n
	}
	return v, nil
}

// Report is what HAProxy says of a configuration that it has read.
type Report struct {
	// Alerts are what it does not take, Warnings what it takes and does not like.
	Alerts, Warnings []Fault
	Took             time.Duration
}

// Check has HAProxy read a configuration and changes nothing. ErrRejected is HAProxy's verdict on it, with its words. ErrResources and ErrStart say that there
// is no verdict: the machine lacks something, or HAProxy could not be run. That a listener's address is taken does not show here.
func Check(ctx context.Context, binary, config string) error {
	_, err := Examine(ctx, binary, config)
	return err
}

// Examine is Check with everything that HAProxy says, also of a configuration that it takes.
func Examine(ctx context.Context, binary, config string) (Report, error) {
	began := time.Now()
	out, err := run(ctx, binary, "-c", "-f", config)
	r := Report{Took: time.Since(began)}
	r.Alerts, r.Warnings = ParseLog(string(out))
	var exit *exec.ExitError
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return r, fmt.Errorf("check %s: %w", config, ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		return r, judgeLog(string(out))
	default:
		return r, fmt.Errorf("check %s with %s: %w: %w", config, binary, ErrStart, err)
	}
}
