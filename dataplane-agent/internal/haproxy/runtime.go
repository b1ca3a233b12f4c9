package haproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// MaxLine is the longest line that every version takes, its newline included. Above it HAProxy closes the connection.
const MaxLine = 16383

// prompt ends every answer once the connection is in that mode.
const prompt = "\n> "

// Reply is the answer to one command.
type Reply struct {
	Text string
	// Err is what the answer means, for a command that changes something. Of a command that only asks it says nothing.
	Err error
}

// Runtime is a connection to a worker's runtime socket. It is used by one goroutine at a time; Close may be called from any.
type Runtime struct {
	conn net.Conn
	buf  []byte
	// broken is set by the first error: no later answer could be told from an earlier one (HAPROXY-1).
	broken error
	once   sync.Once
}

// DialRuntime connects to a worker's runtime socket.
func DialRuntime(ctx context.Context, socket string) (*Runtime, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnection, err)
	}
	r := &Runtime{conn: conn}
	if _, err := r.Do(ctx, []string{"prompt"}); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends the connection.
func (r *Runtime) Close() error {
	var err error
	r.once.Do(func() { err = r.conn.Close() })
	return err //nolint:wrapcheck // Nothing is to be added.
}

// Do writes all commands at once and returns an answer for each, in order. An error means that the connection is gone.
func (r *Runtime) Do(ctx context.Context, lines []string) ([]Reply, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	size := 0
	for _, l := range lines {
		if strings.ContainsAny(l, "\n\r\x00") || len(l) >= MaxLine {
			return nil, fmt.Errorf("command %.40q of %d bytes cannot be sent: %w", l, len(l), ErrRefused)
		}
		size += len(l) + 1
	}
	stop := context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	text := make([]byte, 0, size)
	for _, l := range lines {
		text = append(text, l...)
		text = append(text, '\n')
	}
	replies, err := r.exchange(text, len(lines))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		r.broken = fmt.Errorf("%w: %w", ErrConnection, err)
		_ = r.Close()
		return nil, r.broken
	}
	return replies, nil
}

// inFlight is how much may be written before answers are read: HAProxy stops reading while its own answers are not.
const inFlight = 16 << 10

// exchange writes the text and reads n answers. A long text is written beside the reading.
func (r *Runtime) exchange(text []byte, n int) ([]Reply, error) {
	if len(text) <= inFlight {
		if _, err := r.conn.Write(text); err != nil {
			return nil, err //nolint:wrapcheck // The caller wraps it.
		}
		return r.read(n)
	}
	written := make(chan error, 1)
	go func() {
		_, err := r.conn.Write(text)
		written <- err
	}()
	replies, err := r.read(n)
	if err != nil {
		_ = r.Close() // ends the write
	}
	if writeErr := <-written; err == nil {
		err = writeErr
	}
	return replies, err
}

// read returns the next n answers.
func (r *Runtime) read(n int) ([]Reply, error) {
	replies := make([]Reply, 0, n)
	searched := 0
	for {
		for len(replies) < n {
			at := bytes.Index(r.buf[searched:], []byte(prompt))
			if at < 0 {
				searched = max(0, len(r.buf)-len(prompt)+1)
				break
			}
			at += searched
			answer := string(r.buf[:at])
			replies = append(replies, Reply{answer, judge(answer)})
			r.buf, searched = r.buf[at+len(prompt):], 0
		}
		if len(replies) == n {
			if len(r.buf) > 0 {
				return nil, fmt.Errorf("%d bytes more than the answers: %w", len(r.buf), ErrMalformed)
			}
			r.buf = nil
			return replies, nil
		}
		var err error
		if r.buf, err = fill(r.conn, r.buf); err != nil {
			return nil, err
		}
	}
}

// maxAnswer bounds what is held of answers.
const maxAnswer = 256 << 20

// fill appends what the next read gives.
func fill(conn net.Conn, buf []byte) ([]byte, error) {
	if len(buf) > maxAnswer {
		return buf, fmt.Errorf("an answer of more than %d bytes: %w", maxAnswer, ErrMalformed)
	}
	if cap(buf)-len(buf) < 4096 {
		grown := make([]byte, len(buf), max(2*cap(buf), 16<<10))
		copy(grown, buf)
		buf = grown
	}
	n, err := conn.Read(buf[len(buf):cap(buf)])
	buf = buf[:len(buf)+n]
	if n > 0 {
		return buf, nil
	}
	if err == nil {
		err = errors.New("an empty read")
	}
	return buf, err
}

// ask sends commands that only ask.
func (r *Runtime) ask(ctx context.Context, lines ...string) ([]string, error) {
	replies, err := r.Do(ctx, lines)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(replies))
	for i, reply := range replies {
		out[i] = reply.Text
	}
	return out, nil
}
