package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Info is what a worker says of itself.
type Info struct {
	PID         int
	Version     string
	Description string
	// Stopping says that the worker is leaving.
	Stopping bool
	MaxConn  int
}

// Info asks the worker.
func (r *Runtime) Info(ctx context.Context) (Info, error) {
	texts, err := r.ask(ctx, "show info")
	if err != nil {
		return Info{}, err
	}
	return ParseInfo(texts[0])
}

// ParseInfo reads the answer to `show info`.
func ParseInfo(text string) (Info, error) {
	i := Info{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch name {
		case "Pid":
			n, err := strconv.Atoi(value)
			if err != nil {
				return i, fmt.Errorf("info: pid %.20q: %w", value, ErrMalformed)
			}
			i.PID = n
		case "Version":
			i.Version = value
		case "description":
			i.Description = value
		case "Stopping":
			i.Stopping = value != "0"
		case "Maxconn":
			i.MaxConn, _ = strconv.Atoi(value) // for people only
		}
	}
	if i.PID <= 0 {
		return i, fmt.Errorf("info: no pid in %.80q: %w", text, ErrMalformed)
	}
	return i, nil
}
