package haproxy

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// LogFile is the name of HAProxy's own output in the state directory.
const LogFile = "haproxy.log"

// maxLog is the size from which HAProxy's output is moved aside: each `set server … state` writes a line.
const maxLog = 4 << 20

// Fault is one thing that HAProxy has to say about a configuration.
type Fault struct {
	// File and Line are where it is, "" and 0 if HAProxy does not say.
	File string
	Line int
	Text string
}

// String is the fault as it is shown to people.
func (f Fault) String() string { return f.Text }

var (
	logLine  = regexp.MustCompile(`^\[(ALERT|WARNING|NOTICE|INFO|DEBUG|DIAG)\]\s*\(\d+\)\s*: (.*)$`)
	position = regexp.MustCompile(`\[([^\[\]]+):(\d+)\]`)
)

// ParseLog sorts out what HAProxy writes while it reads a configuration or starts. A line without a level of its own belongs to the one before. The process
// number in front of each line is left out, so that the same fault reads the same every time.
func ParseLog(text string) (alerts, warnings []Fault) {
	var last *[]Fault
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := logLine.FindStringSubmatch(line)
		switch {
		case m == nil:
			if last != nil && strings.HasPrefix(strings.TrimSpace(line), "|") {
				f := &(*last)[len(*last)-1]
				f.Text += " " + strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "|"))
			}
			continue
		case m[1] == "ALERT":
			last = &alerts
		case m[1] == "WARNING":
			last = &warnings
		default:
			last = nil
			continue
		}
		*last = append(*last, fault(m[2]))
	}
	return alerts, warnings
}

func fault(text string) Fault {
	f := Fault{Text: strings.TrimPrefix(text, "config : ")}
	if at := position.FindStringSubmatch(text); at != nil {
		if n, err := strconv.Atoi(at[2]); err == nil {
			f.File, f.Line = at[1], n
		}
	}
	return f
}

// surroundings are words of alerts that a configuration is not to blame for, so that the same one may do at another time or place.
var surroundings = []struct {
	words []string
	err   error
}{
	{[]string{"cannot bind", "address already in use", "cannot create listening socket", "cannot create receiving socket", "failed to start their listeners"}, ErrBind},
	{[]string{
		"fd limit", "too many open files", "maximum number of open file", "cannot allocate", "out of memory", "not enough memory", "cannot fork",
		"no space left", "permission denied", "resource temporarily unavailable",
	}, ErrResources},
	// All files that a configuration names are the agent's own: one that is gone is the disk's fault.
	{[]string{"cannot open configuration file", "could not resolve address", "no such file or directory"}, ErrStart},
}

// maxAlerts bounds what is told of a log.
const maxAlerts = 2 << 10

// judgeLog says what HAProxy's output means when it did not start, or did not like its configuration.
func judgeLog(text string) error {
	alerts, _ := ParseLog(text)
	low := strings.ToLower(text)
	for _, s := range surroundings {
		for _, w := range s.words {
			if strings.Contains(low, w) {
				return fmt.Errorf("%w: %s", s.err, tell(alerts, text))
			}
		}
	}
	// An empty configuration has no alert.
	if len(alerts) == 0 && !strings.Contains(text, "will not start (no listener)") {
		return fmt.Errorf("%w: %s", ErrStart, tell(alerts, text))
	}
	return fmt.Errorf("%w: %s", ErrRejected, tell(alerts, text))
}

// tell puts the alerts, or else the end of the output, into one line.
func tell(alerts []Fault, text string) string {
	var lines []string
	for _, a := range alerts {
		if len(lines) == 0 || lines[len(lines)-1] != a.Text {
			lines = append(lines, a.Text)
		}
	}
	out := strings.Join(lines, "; ")
	if out == "" {
		out = strings.TrimSpace(text[max(0, len(text)-maxAlerts):])
	}
	if out == "" {
		out = "it gave no reason"
	}
	return out[:min(len(out), maxAlerts)]
}

// openLog opens HAProxy's output in a state directory for appending, and says where it ends.
func openLog(stateDir string) (*os.File, int64, error) {
	path := filepath.Join(stateDir, LogFile)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w: %w", path, ErrStart, err)
	}
	at, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		_ = log.Close()
		return nil, 0, fmt.Errorf("open %s: %w: %w", path, ErrStart, err)
	}
	return log, at, nil
}

// TrimLog keeps HAProxy's output in a state directory from growing without end: what is above 4 MB goes to haproxy.log.1, which it replaces. HAProxy
// holds the file open, so it is copied and made empty, not renamed; what HAProxy writes in between is lost. It is cheap when there is nothing to do.
func TrimLog(stateDir string) error {
	path := filepath.Join(stateDir, LogFile)
	if logSize(stateDir) <= maxLog {
		return nil
	}
	log, err := os.Open(path) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return fmt.Errorf("trim %s: %w", path, err)
	}
	defer func() { _ = log.Close() }()
	old, err := os.OpenFile(path+".1", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // As above.
	if err != nil {
		return fmt.Errorf("trim %s: %w", path, err)
	}
	// A disk that is full must not keep the log from being made empty.
	_, copyErr := io.Copy(old, io.NewSectionReader(log, max(0, logSize(stateDir)-maxLog), maxLog))
	closeErr := old.Close()
	if err := os.Truncate(path, 0); err != nil {
		return fmt.Errorf("trim %s: %w", path, err)
	}
	if copyErr != nil || closeErr != nil {
		return fmt.Errorf("keep the end of %s: %w", path, firstOf(copyErr, closeErr))
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// logFrom is HAProxy's output from an offset on.
func logFrom(stateDir string, at int64) string {
	f, err := os.Open(filepath.Join(stateDir, LogFile)) //nolint:gosec // The path is one of the agent's own state directory.
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if logSize(stateDir) < at {
		at = 0 // it was trimmed meanwhile
	}
	b, _ := io.ReadAll(io.LimitReader(io.NewSectionReader(f, at, 1<<62), 64<<10)) // what can be read of it is told
	return string(b)
}

func logSize(stateDir string) int64 {
	info, err := os.Stat(filepath.Join(stateDir, LogFile))
	if err != nil {
		return 0
	}
	return info.Size()
}
