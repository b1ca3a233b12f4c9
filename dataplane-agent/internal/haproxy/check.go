package haproxy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// VersionInfo is the version of a HAProxy binary.
type VersionInfo struct {
	Major, Minor int
	// Full is as HAProxy writes it: 2.6.12-1+deb12u4.
	Full string
}

var versionPattern = regexp.MustCompile(`(?m)^HA-?Proxy version ((\d+)\.(\d+)\S*)`)

// Version asks the binary.
func Version(ctx context.Context, binary string) (VersionInfo, error) {
	out, err := exec.CommandContext(ctx, binary, "-v").CombinedOutput() //nolint:gosec // The operator names the binary.
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
	major, _ := strconv.Atoi(m[2]) // digits
	minor, _ := strconv.Atoi(m[3])
	return VersionInfo{major, minor, m[1]}, nil
}

// Check has HAProxy read a configuration and changes nothing. ErrRejected and ErrResources are HAProxy's verdict, with its words.
func Check(ctx context.Context, binary, config string) error {
	out, err := exec.CommandContext(ctx, binary, "-c", "-f", config).CombinedOutput() //nolint:gosec // The operator names the binary.
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("check %s: %w", config, ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		return judgeLog(string(out))
	default:
		return fmt.Errorf("check %s: %w: %w", config, ErrStart, err)
	}
}
