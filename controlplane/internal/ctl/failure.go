package ctl

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes (CTL-1).
const (
	done    = 0
	failed  = 1
	misuse  = 2
	differs = 3
)

// failure is an error with its exit code; every other error ends with 1.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errDifferent ends with 3 and has nothing to say: what differs was printed.
var errDifferent = &failure{differs, errors.New("")}

func wrongUsage(err error) error { return &failure{misuse, err} }

func misused(format string, args ...any) error { return wrongUsage(fmt.Errorf(format, args...)) }

// judge gives the exit code of an error and its text in one line.
func judge(err error) (code int, text string) {
	code = failed
	if f := (*failure)(nil); errors.As(err, &f) {
		code = f.code
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, printable(line))
		}
	}
	return code, strings.Join(lines, "; ")
}
