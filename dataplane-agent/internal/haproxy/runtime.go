package haproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// prompt ends every answer once the connection is in that mode.
const prompt = "\n> "

// DefaultTimeout bounds a call whose context has no deadline.
const DefaultTimeout = 30 * time.Second

// Reply is the answer to one command.
type Reply struct {
	Text string
	// Err is what the answer means. An answer to a command that only asks is never taken for a refusal but by its first words.
	Err error
}

// Runtime is a connection to a worker's runtime socket. It is used by one goroutine at a time; Close may be called from any.
type Runtime struct {
	socket string
	// greeting is written first, to reach the worker through its master.
	greeting string
	buf      []byte
	// broken is set by the first error: no later answer could be told from an earlier one (HAPROXY-1).
	broken error
	// worker is the pid that Info told last, 0 before. Only to that worker a new connection may be opened.
	worker int

	mu     sync.Mutex // guards what follows, and is held for no I/O
	conn   net.Conn
	closed bool
}

func (r *Runtime) open(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	if !r.take(conn) {
		return fmt.Errorf("%w: %w", ErrConnection, net.ErrClosed)
	}
	if _, err := r.roundTrip(ctx, []byte(r.greeting+"prompt\n"), []Command{{Line: "prompt"}}); err != nil {
		return err
	}
	return nil
}

// take makes a connection the current one, unless the Runtime was closed meanwhile.
func (r *Runtime) take(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = conn.Close()
		return false
	}
	if r.conn != nil {
		_ = r.conn.Close()
	}
	r.conn = conn
	return true
}

// Close ends the connection.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.conn == nil {
		return nil
	}
	return r.conn.Close() //nolint:wrapcheck // Nothing is to be added.
}

// Do is DoCommands for lines without a payload.
func (r *Runtime) Do(ctx context.Context, lines []string) ([]Reply, error) {
	commands := make([]Command, len(lines))
	for i, l := range lines {
		commands[i].Line = l
	}
	return r.DoCommands(ctx, commands)
}

// DoCommands writes all commands at once and returns an answer for each, in order. A command that cannot be sent is not, and has ErrInvalidCommand for its answer,
// as if HAProxy had refused it. After an error the connection is gone; the answers that came before it are returned.
func (r *Runtime) DoCommands(ctx context.Context, commands []Command) ([]Reply, error) {
	replies := make([]Reply, len(commands))
	sent := make([]Command, 0, len(commands))
	size := 0
	for i, c := range commands {
		if replies[i].Err = c.valid(); replies[i].Err == nil {
			sent = append(sent, c)
			size += c.Size()
		}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	text := make([]byte, 0, size)
	for _, c := range sent {
		text = c.append(text)
	}
	answers, err := r.roundTrip(ctx, text, sent)
	for i := range replies {
		switch {
		case replies[i].Err != nil:
		case len(answers) == 0:
			return replies[:i], err
		default:
			replies[i], answers = answers[0], answers[1:]
		}
	}
	return replies, err
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// ready says whether the connection can be written to. HAProxy closes one that has been idle for `stats timeout`, and nothing is lost with it:
// another is opened, if the same worker answers there.
func (r *Runtime) ready(ctx context.Context) error {
	if r.broken != nil {
		return r.broken
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	switch err := idle(r.conn); {
	case err == nil:
		return nil
	case !errors.Is(err, io.EOF) || r.worker == 0:
		return r.breaks(err)
	}
	worker := r.worker
	if err := r.open(ctx); err != nil {
		return r.breaks(err)
	}
	info, err := r.Info(ctx)
	switch {
	case err != nil:
		return r.breaks(err)
	case info.PID != worker || info.Stopping:
		return r.breaks(fmt.Errorf("worker %d is not the one that answers: %w", worker, ErrStopping))
	}
	return nil
}

// breaks notes that the connection cannot be used any more.
func (r *Runtime) breaks(err error) error {
	if !errors.Is(err, ErrConnection) {
		err = fmt.Errorf("%w: %w", ErrConnection, err)
	}
	r.broken = err
	_ = r.Close()
	return err
}

// roundTrip writes the text of the commands and reads their answers. No commands have no answers.
func (r *Runtime) roundTrip(ctx context.Context, text []byte, commands []Command) ([]Reply, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	release := expire(ctx, r.conn)
	replies, err := r.exchange(text, commands)
	release()
	if err == nil {
		return replies, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return replies, r.breaks(err)
}

// expire has the connection's reads and writes end with the context, until it is released.
func expire(ctx context.Context, conn net.Conn) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-done
			_ = conn.SetDeadline(time.Time{}) // the context may have ended after the last answer came
		}
	}
}

// inFlight is how much may be written before answers are read: HAProxy stops reading while its own answers are not.
const inFlight = 16 << 10

// exchange writes the text and reads the answers. A long text is written beside the reading.
func (r *Runtime) exchange(text []byte, commands []Command) ([]Reply, error) {
	if len(text) <= inFlight {
		if _, err := r.conn.Write(text); err != nil {
			return nil, err //nolint:wrapcheck // The caller wraps it.
		}
		return r.read(commands)
	}
	written := make(chan error, 1)
	go func() {
		_, err := r.conn.Write(text)
		written <- err
	}()
	replies, err := r.read(commands)
	if err != nil {
		_ = r.Close() // ends the write
	}
	if writeErr := <-written; err == nil {
		err = writeErr
	}
	return replies, err
}

// read returns the answers to the commands.
func (r *Runtime) read(commands []Command) ([]Reply, error) {
	replies := make([]Reply, 0, len(commands))
	searched := 0
	for {
		for len(replies) < len(commands) {
			at := bytes.Index(r.buf[searched:], []byte(prompt))
			if at < 0 {
				searched = max(0, len(r.buf)-len(prompt)+1)
				break
			}
			at += searched
			replies = append(replies, reply(commands[len(replies)], r.buf[:at]))
			r.buf, searched = r.buf[at+len(prompt):], 0
		}
		if len(replies) == len(commands) {
			if len(r.buf) > 0 {
				return replies, fmt.Errorf("%d bytes more than the answers: %w", len(r.buf), ErrMalformed)
			}
			r.buf = nil
			return replies, nil
		}
		var err error
		if r.buf, err = fill(r.conn, r.buf); err != nil {
			if errors.Is(err, io.EOF) && len(r.buf) > 0 {
				err = fmt.Errorf("in the middle of an answer: %w", io.ErrUnexpectedEOF)
			}
			return replies, err
		}
	}
}

// reply makes an answer of what came before the prompt. To a payload HAProxy prompts with "+ " while it reads: on 2.6 once for each line.
func reply(c Command, answer []byte) Reply {
	if len(c.Payload) > 0 {
		for bytes.HasPrefix(answer, []byte("+ ")) {
			answer = answer[2:]
		}
	}
	text := string(answer)
	return Reply{text, judge(c.Line, text)}
}

// maxAnswer bounds what is held of answers.
const maxAnswer = 256 << 20

// fill appends what the next read gives.
func fill(conn net.Conn, buf []byte) ([]byte, error) {
	if len(buf) > maxAnswer {
		return buf, fmt.Errorf("an answer of more than %d bytes: %w", maxAnswer, ErrMalformed)
	}
	if cap(buf)-len(buf) < 4096 {
		grown := make([]byte, len(buf), max(2*len(buf), 16<<10))
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
	return buf, err //nolint:wrapcheck // The caller wraps it.
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
