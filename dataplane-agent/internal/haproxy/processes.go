package haproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Processes is what the master says of its processes.
type Processes struct {
	Master int
	// Reloads counts the reloads of this master. Failed is more than 0 after a reload that failed and 0 again after one that succeeded; on 3.4 it does not
	// grow with a second failure.
	Reloads, Failed int
	Workers, Old    []int
	// Rows are all processes, the master first.
	Rows []ProcessRow
}

// ProcessRow is one process of a master.
type ProcessRow struct {
	PID  int
	Type string
	// Old says that it is listed as an old one.
	Old bool
	// Reloads is how many reloads it has lived through.
	Reloads int
	Uptime  time.Duration
	Version string
}

// Current is the worker that takes new connections, as far as the master can tell: a new one is listed before it serves. After a reload that failed
// the one that goes on is listed among the old ones; it is the youngest of them.
func (p Processes) Current() (pid int, ok bool) {
	best := -1
	for i, r := range p.Rows {
		if r.Type != "worker" {
			continue
		}
		if best < 0 || p.Rows[best].Old && !r.Old || p.Rows[best].Old == r.Old && r.Reloads < p.Rows[best].Reloads {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	return p.Rows[best].PID, true
}

// Leaving counts the workers that only finish what they have.
func (p Processes) Leaving() int {
	if len(p.Workers) == 0 && len(p.Old) > 0 {
		return len(p.Old) - 1
	}
	return len(p.Old)
}

// lists says whether the master has such a worker.
func (p Processes) lists(pid int) bool {
	return slices.Contains(p.Workers, pid) || slices.Contains(p.Old, pid)
}

// ParseProcesses reads the answer to `show proc`. One that was cut off is no answer: a worker that is not listed would be taken for gone.
func ParseProcesses(text string) (Processes, error) {
	p := Processes{}
	if !strings.HasSuffix(text, "\n\n") {
		return p, fmt.Errorf("processes: the answer ends with %q, not with an empty line: %w", text[max(0, len(text)-80):], ErrMalformed)
	}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.TrimSpace(rest)
			continue
		}
		if line == "" {
			continue
		}
		row, failed, err := parseProcess(line)
		if err != nil {
			return Processes{}, err
		}
		row.Old = strings.HasPrefix(section, "old ")
		p.Rows = append(p.Rows, row)
		switch {
		case row.Type == "master":
			p.Master, p.Reloads, p.Failed = row.PID, row.Reloads, failed
		case row.Type == "worker" && row.Old:
			p.Old = append(p.Old, row.PID)
		case row.Type == "worker":
			p.Workers = append(p.Workers, row.PID)
		}
	}
	if p.Master == 0 {
		return Processes{}, fmt.Errorf("processes: no master in %.80q: %w", text, ErrMalformed)
	}
	return p, nil
}

// parseProcess reads a row: pid, type, reloads, of the master "[failed: N]" too, uptime and version.
func parseProcess(line string) (row ProcessRow, failed int, err error) {
	malformed := fmt.Errorf("processes: line %.80q: %w", line, ErrMalformed)
	if before, rest, ok := strings.Cut(line, "[failed:"); ok {
		number, after, ok := strings.Cut(rest, "]")
		if failed, err = strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil || failed < 0 {
			return row, 0, malformed
		}
		line = before + after
	}
	f := strings.Fields(line)
	if len(f) < 4 {
		return row, 0, malformed
	}
	row.Type = f[1]
	pid, pidErr := strconv.Atoi(f[0])
	reloads, reloadsErr := strconv.Atoi(f[2])
	uptime, uptimeErr := parseUptime(f[3])
	if firstOf(pidErr, reloadsErr, uptimeErr) != nil || pid <= 0 || reloads < 0 {
		return row, 0, malformed
	}
	row.PID, row.Reloads, row.Uptime = pid, reloads, uptime
	if len(f) > 4 {
		row.Version = f[4]
	}
	return row, failed, nil
}

// parseUptime reads a time such as 0d00h00m02s, or as `show info` has it: 0d 0h00m02s, without its space.
func parseUptime(text string) (time.Duration, error) {
	total, rest := time.Duration(0), text
	for _, unit := range []struct {
		letter string
		d      time.Duration
		most   uint64
	}{{"d", 24 * time.Hour, 36500}, {"h", time.Hour, 23}, {"m", time.Minute, 59}, {"s", time.Second, 60}} {
		number, after, ok := strings.Cut(rest, unit.letter)
		n, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || n > unit.most {
			return 0, fmt.Errorf("time %.20q: %w", text, ErrMalformed)
		}
		total, rest = total+time.Duration(n)*unit.d, after
	}
	if rest != "" {
		return 0, fmt.Errorf("time %.20q: %w", text, ErrMalformed)
	}
	return total, nil
}
