package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of rows of `show stat`, to be added up.
const (
	StatFrontend = 1
	StatBackend  = 2
	StatServer   = 4
)

// Stat is one row of `show stat`: of a frontend, a backend or a server.
type Stat struct {
	Proxy, Name string
	// Status is HAProxy's word: OPEN, PAUSED and STOP of a frontend; a backend that takes no requests has (UNPUB) behind it.
	Status string
	// Limit is the most sessions, 0 if there is none.
	Limit int
}

// Unpublished says whether no rule can send a request to the backend of this row.
func (s Stat) Unpublished() bool { return strings.HasSuffix(s.Status, "(UNPUB)") }

// Stats reads the rows of the given kinds, of all proxies if none is named. A proxy that the worker does not have has no row.
func (r *Runtime) Stats(ctx context.Context, kinds int, proxies ...string) ([]Stat, error) {
	_, stats, err := r.stats(ctx, false, kinds, proxies)
	return stats, err
}

// InfoAndStats is Info and Stats in one exchange.
func (r *Runtime) InfoAndStats(ctx context.Context, kinds int, proxies ...string) (Info, []Stat, error) {
	return r.stats(ctx, true, kinds, proxies)
}

func (r *Runtime) stats(ctx context.Context, info bool, kinds int, proxies []string) (i Info, out []Stat, err error) {
	if len(proxies) == 0 {
		proxies = []string{"-1"}
	}
	var lines []string
	if info {
		lines = append(lines, "show info")
	}
	for _, p := range proxies {
		lines = append(lines, "show stat "+Word(p)+" "+strconv.Itoa(kinds)+" -1")
	}
	texts, err := r.ask(ctx, lines...)
	if err != nil {
		return i, nil, err
	}
	if info {
		if i, err = ParseInfo(texts[0]); err != nil {
			return i, nil, err
		}
		texts = texts[1:]
	}
	for _, text := range texts {
		rows, err := ParseStats(text)
		if err != nil {
			return i, nil, err
		}
		out = append(out, rows...)
	}
	return i, out, nil
}

// ParseStats reads the answer to `show stat`: comma-separated values, whose first line names the columns. Those that are read here are names and numbers, and
// stand before every column that may have quotes.
func ParseStats(text string) ([]Stat, error) {
	if strings.HasPrefix(text, "No such proxy") {
		return nil, nil
	}
	header, rest, ok := strings.Cut(text, "\n")
	names, isHeader := strings.CutPrefix(header, "# ")
	if !ok || !isHeader {
		if err := judge("show stat", text); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("stats: header %.80q: %w", header, ErrMalformed)
	}
	place, last := map[string]int{"pxname": -1, "svname": -1, "slim": -1, "status": -1}, 0
	for i, name := range strings.Split(names, ",") {
		if at, wanted := place[name]; wanted && at < 0 {
			place[name], last = i, i
		}
	}
	for name, at := range place {
		if at < 0 {
			return nil, fmt.Errorf("stats: no column %s in %.80q: %w", name, header, ErrMalformed)
		}
	}
	var out []Stat
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.SplitN(line, ",", last+2)
		if len(f) < last+2 || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("stats: line %.80q is cut off: %w", line, ErrMalformed)
		}
		s := Stat{Proxy: strings.Clone(f[place["pxname"]]), Name: strings.Clone(f[place["svname"]]), Status: strings.Clone(f[place["status"]])}
		if limit := f[place["slim"]]; limit != "" {
			n, err := strconv.ParseUint(limit, 10, 31)
			if err != nil {
				return nil, fmt.Errorf("stats: limit %.20q: %w", limit, ErrMalformed)
			}
			s.Limit = int(n)
		}
		out = append(out, s)
	}
	return out, nil
}
