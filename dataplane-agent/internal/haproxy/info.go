package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Info is what a worker says of itself.
type Info struct {
	PID         int
	Version     string
	Description string
	// Stopping says that the worker is leaving.
	Stopping bool
	// MaxConn is how many connections the worker takes now, HardMaxConn how many it was started for.
	MaxConn, HardMaxConn int
	// ConnRate, SessRate and SSLRate limit what is new in a second, 0 if nothing does.
	ConnRate, SessRate, SSLRate int
	// Started is when the worker started, to the second, by the machine's clock; Uptime how long it has run.
	Started time.Time
	Uptime  time.Duration
}

// Info asks the worker.
func (r *Runtime) Info(ctx context.Context) (Info, error) {
	texts, err := r.ask(ctx, "show info")
	if err != nil {
		return Info{}, err
	}
	info, err := ParseInfo(texts[0])
	if err == nil {
		r.worker = info.PID
	}
	return info, err
}

// ParseInfo reads the answer to `show info`. One that was cut off before it says whether the worker is leaving is no answer.
func ParseInfo(text string) (Info, error) {
	i := Info{}
	stopping := false
	var err error
	number := func(name, value string) int {
		n, parseErr := strconv.Atoi(value)
		if parseErr != nil || n < 0 {
			err = firstOf(err, fmt.Errorf("info: %s %.20q: %w", name, value, ErrMalformed))
		}
		return n
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch name {
		case "Pid":
			i.PID = number(name, value)
		case "Version":
			i.Version = value
		case "description":
			i.Description = value
		case "Stopping":
			stopping, i.Stopping = true, number(name, value) != 0
		case "Maxconn":
			i.MaxConn = number(name, value)
		case "Hard_maxconn":
			i.HardMaxConn = number(name, value)
		case "ConnRateLimit":
			i.ConnRate = number(name, value)
		case "SessRateLimit":
			i.SessRate = number(name, value)
		case "SslRateLimit":
			i.SSLRate = number(name, value)
		case "Uptime_sec":
			i.Uptime = time.Duration(number(name, value)) * time.Second
		case "Start_time_sec":
			i.Started = time.Unix(int64(number(name, value)), 0)
		}
	}
	switch {
	case err != nil:
		return Info{}, err
	case i.PID <= 0 || !stopping:
		return Info{}, fmt.Errorf("info: no pid, or no word of stopping, in %.80q: %w", text, ErrMalformed)
	}
	return i, nil
}
