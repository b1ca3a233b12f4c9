package haproxy

import (
	"errors"
	"fmt"
	"strings"
)

// The errors to decide by.
var (
	// ErrConnection: the socket cannot be reached, or the connection broke or was too slow. What was written may have been done.
	ErrConnection = errors.New("no answer from HAProxy")
	// ErrStopping: the worker is leaving; a new one takes the traffic.
	ErrStopping = errors.New("the worker is leaving")
	// ErrNotRunning: there is no HAProxy behind the master socket.
	ErrNotRunning = errors.New("HAProxy does not run")
	// ErrNoSuchBackend and ErrNoSuchServer: the worker does not have it.
	ErrNoSuchBackend = errors.New("no such backend")
	ErrNoSuchServer  = errors.New("no such server")
	// ErrRefused: HAProxy does not do what the command says; the error has its words.
	ErrRefused = errors.New("refused by HAProxy")
	// ErrMalformed: an answer is not what it should be.
	ErrMalformed = errors.New("unexpected answer of HAProxy")
	// ErrRejected: HAProxy does not take a configuration.
	ErrRejected = errors.New("configuration refused by HAProxy")
	// ErrBind: an address cannot be listened on.
	ErrBind = errors.New("HAProxy cannot listen")
	// ErrResources: not enough file descriptors, memory or processes.
	ErrResources = errors.New("HAProxy lacks resources")
	// ErrStart: HAProxy could not be started, or ended at once.
	ErrStart = errors.New("HAProxy cannot be started")
)

// done are the beginnings of answers that say that something was done. An empty answer says so too.
var done = []string{
	"IP changed from", "no need to change the addr", "New server registered", "Server deleted", "New version created", "New backend", "Backend ",
}

// judge says what an answer to a command that changes something means.
func judge(answer string) error {
	text := strings.TrimSpace(answer)
	if text == "" {
		return nil
	}
	for _, d := range done {
		if strings.HasPrefix(text, d) {
			if strings.Contains(text, "problem converting port") {
				break
			}
			return nil
		}
	}
	switch {
	case strings.HasPrefix(text, "No such backend"), strings.HasPrefix(text, "Can't find backend"):
		return fmt.Errorf("%w: %s", ErrNoSuchBackend, text)
	case strings.HasPrefix(text, "No such server"):
		return fmt.Errorf("%w: %s", ErrNoSuchServer, text)
	case strings.Contains(text, "Proxy is disabled"):
		return fmt.Errorf("%w: %s", ErrStopping, text)
	default:
		return fmt.Errorf("%w: %s", ErrRefused, text)
	}
}

// judgeLog says what HAProxy's own log of a start that failed means.
func judgeLog(log string) error {
	alerts := alerts(log)
	low := strings.ToLower(alerts)
	switch {
	case strings.Contains(low, "cannot bind"), strings.Contains(low, "address already in use"), strings.Contains(low, "cannot create listening socket"):
		return fmt.Errorf("%w: %s", ErrBind, alerts)
	case strings.Contains(low, "fd limit"), strings.Contains(low, "cannot allocate"), strings.Contains(low, "out of memory"), strings.Contains(low, "cannot fork"),
		strings.Contains(low, "too many open files"), strings.Contains(low, "not enough memory"):
		return fmt.Errorf("%w: %s", ErrResources, alerts)
	default:
		return fmt.Errorf("%w: %s", ErrRejected, alerts)
	}
}

// maxAlerts bounds what is told of a log.
const maxAlerts = 2 << 10

// alerts are the lines of a log that say why, or its end if none does.
func alerts(log string) string {
	var lines []string
	for l := range strings.Lines(log) {
		if strings.Contains(l, "[ALERT]") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	out := strings.Join(lines, "; ")
	if out == "" {
		out = strings.TrimSpace(log[max(0, len(log)-maxAlerts):])
	}
	if out == "" {
		out = "it gave no reason"
	}
	return out[:min(len(out), maxAlerts)]
}
