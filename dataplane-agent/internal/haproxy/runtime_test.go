package haproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake listens like a worker does. For each connection it hands over what was written after `prompt`.
func fake(t *testing.T, serve func(in *bufio.Reader, out net.Conn)) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			if line, err := in.ReadString('\n'); err == nil && line == "prompt\n" {
				_, _ = io.WriteString(conn, prompt)
				serve(in, conn)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return socket
}

func dialFake(t *testing.T, serve func(in *bufio.Reader, out net.Conn)) *Runtime {
	t.Helper()
	r, err := DialRuntime(within(t, 5*time.Second), fake(t, serve))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// HAPROXY-1: whatever goes wrong with a connection is ErrConnection, comes at once or when the context ends, and stays.
func TestABrokenConnectionStaysBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		serve func(in *bufio.Reader, out net.Conn)
		kind  error
		words string
		got   int // answers that came before
	}{
		{"closed without an answer", func(in *bufio.Reader, _ net.Conn) { _, _ = in.ReadString('\n') }, io.EOF, "", 0},
		{"closed after an answer", func(in *bufio.Reader, out net.Conn) {
			_, _ = in.ReadString('\n')
			_, _ = in.ReadString('\n')
			_, _ = io.WriteString(out, "a\n"+prompt)
		}, io.EOF, "", 1},
		{"closed in an answer", func(in *bufio.Reader, out net.Conn) {
			_, _ = in.ReadString('\n')
			_, _ = in.ReadString('\n')
			_, _ = io.WriteString(out, "a\n"+prompt+"half of an ans")
		}, io.ErrUnexpectedEOF, "in the middle", 1},
		{"silent", func(in *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, in) }, context.DeadlineExceeded, "", 0},
		{"one answer too many", func(in *bufio.Reader, out net.Conn) {
			_, _ = in.ReadString('\n')
			_, _ = in.ReadString('\n')
			_, _ = io.WriteString(out, "a\n"+prompt+"b\n"+prompt+"c\n"+prompt)
			_, _ = io.Copy(io.Discard, in)
		}, ErrMalformed, "more than", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := dialFake(t, c.serve)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			replies, err := r.Do(ctx, []string{"show one", "show two"})
			if !errors.Is(err, ErrConnection) || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) || len(replies) != c.got {
				t.Errorf("Do = %d answers, %v; want %d, %v", len(replies), err, c.got, c.kind)
			}
			if _, again := r.Do(within(t, time.Second), []string{"show three"}); !errors.Is(again, ErrConnection) {
				t.Errorf("the next call: %v", again)
			}
		})
	}
}

// HAPROXY-1: an answer that came late is never taken for the next one's.
func TestALateAnswerIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	late := make(chan struct{})
	r := dialFake(t, func(in *bufio.Reader, out net.Conn) {
		_, _ = in.ReadString('\n')
		_, _ = io.WriteString(out, "first\n"+prompt)
		_, _ = io.WriteString(out, "late\n"+prompt)
		close(late)
		_, _ = io.Copy(io.Discard, in)
	})
	replies, err := r.Do(within(t, time.Second), []string{"show first"})
	<-late
	if err == nil {
		if replies[0].Text != "first\n" {
			t.Errorf("the answer is %q", replies[0].Text)
		}
		replies, err = r.Do(within(t, time.Second), []string{"show second"})
	}
	if !errors.Is(err, ErrMalformed) || !errors.Is(err, ErrConnection) {
		t.Errorf("the second call: %q, %v", replies, err)
	}
}

// Batches of any size go through, though both sides' buffers are full: here the other side reads nothing more before its answers are read.
func TestNoDeadlockOfFullBuffers(t *testing.T) {
	t.Parallel()
	const n = 20000
	long := strings.Repeat("x", 500)
	r := dialFake(t, func(in *bufio.Reader, out net.Conn) {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := io.WriteString(out, strings.TrimSpace(line)+long+"\n"+prompt); err != nil {
				return
			}
		}
	})
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("show number %d ", i)
	}
	replies, err := r.Do(within(t, 20*time.Second), lines)
	if err != nil {
		t.Fatal(err)
	}
	for i, reply := range replies {
		if want := strings.TrimSpace(lines[i]) + long + "\n"; reply.Text != want {
			t.Fatalf("answer %d is %.40q", i, reply.Text)
		}
	}
}

// A call may be ended by its context in the middle of a long write.
func TestTheContextEndsALongWrite(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := dialFake(t, func(*bufio.Reader, net.Conn) { <-hold })
	defer close(hold)
	lines := make([]string, 100000)
	for i := range lines {
		lines[i] = "show " + strings.Repeat("y", 50)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Do(ctx, lines); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrConnection) {
		t.Errorf("Do: %v", err)
	}
}

// A context that ends just after the last answer does not spoil the connection for the next call.
func TestAContextThatEndsLateHarmsNobody(t *testing.T) {
	t.Parallel()
	r := dialFake(t, func(in *bufio.Reader, out net.Conn) {
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			_, _ = io.WriteString(out, "ok\n"+prompt)
		}
	})
	for range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { cancel(); close(ended) }()
		_, err := r.Do(ctx, []string{"show a"})
		<-ended
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if errors.Is(r.broken, ErrConnection) {
				return // the call was ended in its middle, which is right
			}
			continue
		}
		if _, err := r.Do(within(t, time.Second), []string{"show b"}); err != nil {
			t.Fatalf("the call after: %v", err)
		}
	}
}

// A connection that HAProxy has closed because it was idle is opened again, if the same worker answers; to another worker it is not.
func TestAnIdleConnectionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		second string
		want   error
	}{
		{"the same worker", "Pid: 7\nStopping: 0\n", nil},
		{"another worker", "Pid: 8\nStopping: 0\n", ErrStopping},
		{"the same worker, leaving", "Pid: 7\nStopping: 1\n", ErrStopping},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info, closed := "Pid: 7\nStopping: 0\n", make(chan struct{}, 2)
			r := dialFake(t, func(in *bufio.Reader, out net.Conn) {
				_, _ = in.ReadString('\n')
				_, _ = io.WriteString(out, info+prompt)
				if info = c.second; len(closed) == 0 {
					_ = out.Close()
					closed <- struct{}{}
					return
				}
				_, _ = in.ReadString('\n')
				_, _ = io.WriteString(out, "answer\n"+prompt)
				_, _ = io.Copy(io.Discard, in)
			})
			ctx := within(t, 5*time.Second)
			if _, err := r.Info(ctx); err != nil {
				t.Fatal(err)
			}
			<-closed
			closed <- struct{}{}
			replies, err := r.Do(ctx, []string{"show a"})
			if !errors.Is(err, c.want) || c.want == nil && replies[0].Text != "answer\n" {
				t.Errorf("Do = %v, %v", replies, err)
			}
		})
	}
}

// A command that HAProxy would read as something else than one command is not sent, and harms none of the others.
func TestInvalidCommandsAreNotSent(t *testing.T) {
	t.Parallel()
	r := dialFake(t, func(in *bufio.Reader, out net.Conn) {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(out, "got "+line+prompt)
		}
	})
	ctx := within(t, 5*time.Second)
	first, last := Command{Line: "show first"}, Command{Line: "show last"}
	for _, c := range []Command{
		{}, {Line: " \t"}, {Line: "show a\nshow b"}, {Line: "show a\r"}, {Line: "show a\x00"}, {Line: "show a; show b"}, {Line: `show a\\; show b`}, {Line: `show a\`},
		{Line: "prompt"}, {Line: "quit"}, {Line: "@1 show info"}, {Line: "show " + strings.Repeat("x", MaxLine-5)},
		{Line: "add map m", Payload: []string{""}}, {Line: "add map m", Payload: []string{"a b\n"}}, {Line: "add map m", Payload: []string{strings.Repeat("k v", MaxPayload/3)}},
		{Line: "add map m <<", Payload: []string{"a b"}},
	} {
		replies, err := r.DoCommands(ctx, []Command{first, c, last})
		if err != nil || replies[0].Text != "got show first\n" || !errors.Is(replies[1].Err, ErrInvalidCommand) || replies[2].Text != "got show last\n" {
			t.Errorf("%.60q, %.20q: %v, %v", c.Line, c.Payload, replies, err)
		}
	}
	secret := Command{Line: "set ssl cert x", Payload: []string{"the key", ""}}
	if replies, err := r.DoCommands(ctx, []Command{secret}); err != nil || strings.Contains(replies[0].Err.Error(), "the key") {
		t.Errorf("a payload is told: %v, %v", replies, err)
	}
	replies, err := r.DoCommands(ctx, []Command{Words("show", "a b;c\\d"), {Line: "show a<<"}, {Line: "show " + strings.Repeat("x", MaxLine-6)}})
	if err != nil || replies[0].Text != `got show a\ b\;c\\d`+"\n" || replies[1].Text != "got show a<< \n" {
		t.Errorf("after the invalid ones: %.60q, %v", replies, err)
	}
	if replies, err := r.Do(ctx, nil); err != nil || len(replies) != 0 {
		t.Errorf("no commands: %v, %v", replies, err)
	}
}

func TestACallAfterClose(t *testing.T) {
	t.Parallel()
	r := dialFake(t, func(in *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, in) })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Do(within(t, time.Second), []string{"show a"}); !errors.Is(err, ErrConnection) {
		t.Errorf("Do after Close: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel()
	if _, err := DialRuntime(within(t, time.Second), filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrConnection) {
		t.Errorf("DialRuntime: %v", err)
	}
	if _, err := Show(within(t, time.Second), filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Show: %v", err)
	}
}
