package haproxy

import (
	"fmt"
	"strings"
)

// MaxLine is the longest line that every version takes, its newline included. Above it HAProxy closes the connection.
const MaxLine = 16383

// MaxPayload bounds a command together with its payload, as it is sent. It stays away from HAProxy's buffer of 16,384 bytes: what just does not
// fit is a closed connection on 2.6, and once the end of its whole process; what just fills it is a hang, on 3.4 too.
const MaxPayload = 16000

// Command is one command for a worker.
type Command struct {
	// Line is the command's line. Words that come from elsewhere must have gone through Word.
	Line string
	// Payload are lines that HAProxy reads after the command's own, such as the entries of a map or the lines of a certificate. They need no quoting.
	Payload []string
}

// Words makes a command of words, each of which HAProxy reads as one.
func Words(words ...string) Command {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Word(w)
	}
	return Command{Line: strings.Join(quoted, " ")}
}

// Word quotes a word, so that HAProxy's command line neither splits it nor takes a part of it for another command.
func Word(word string) string {
	if !strings.ContainsAny(word, " \t;\\") {
		return word
	}
	return quoter.Replace(word)
}

var quoter = strings.NewReplacer(`\`, `\\`, ` `, `\ `, "\t", "\\\t", `;`, `\;`)

// Size is the number of bytes that are sent.
func (c Command) Size() int {
	n := len(c.Line) + len(c.ending())
	for _, l := range c.Payload {
		n += len(l) + 1
	}
	return n
}

// ending is all that is sent beside the line and the payload.
func (c Command) ending() string {
	switch {
	case len(c.Payload) > 0:
		return " <<\n\n"
	case strings.Contains(c.Line, "<<"):
		// A line whose end looks like the beginning of a payload, quoted or not, would swallow what follows. A space makes it one like others.
		return " \n"
	default:
		return "\n"
	}
}

// append adds the command as it is sent.
func (c Command) append(to []byte) []byte {
	to = append(to, c.Line...)
	if len(c.Payload) == 0 {
		return append(to, c.ending()...)
	}
	to = append(to, " <<\n"...)
	for _, l := range c.Payload {
		to = append(to, l...)
		to = append(to, '\n')
	}
	return append(to, '\n')
}

// valid says whether HAProxy reads the command as one command, gives it one answer and stays in the mode that it is in. What is told of a
// command is the beginning of its line: a payload may be a private key.
func (c Command) valid() error {
	invalid := func(why string) error {
		return fmt.Errorf("command %.60q: %s: %w", c.Line, why, ErrInvalidCommand)
	}
	words := strings.Fields(c.Line)
	switch {
	case len(words) == 0:
		return invalid("it is empty")
	case strings.ContainsFunc(c.Line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return invalid("it has a line break or another control character")
	case !single(c.Line):
		return invalid("it has a semicolon or a last backslash that is not quoted")
	case words[0] == "prompt" || words[0] == "quit" || words[0][0] == '@':
		return invalid("it would change the connection")
	case len(c.Payload) > 0 && strings.Contains(c.Line, "<<"):
		return invalid("it has a payload and looks as if it had another")
	case len(c.Payload) == 0 && c.Size() > MaxLine:
		return invalid(fmt.Sprintf("it has %d bytes of at most %d", c.Size(), MaxLine))
	case len(c.Payload) > 0 && c.Size() > MaxPayload:
		return invalid(fmt.Sprintf("it has %d bytes with its payload, of at most %d", c.Size(), MaxPayload))
	}
	for i, l := range c.Payload {
		if l == "" || strings.ContainsAny(l, "\n\r\x00") {
			return invalid(fmt.Sprintf("line %d of its payload is empty or has a line break", i+1))
		}
	}
	return nil
}

// single says whether a line has no semicolon or line end that a backslash does not decide about.
func single(line string) bool {
	quoted := false
	for i := range len(line) {
		switch {
		case quoted:
			quoted = false
		case line[i] == '\\':
			quoted = true
		case line[i] == ';':
			return false
		}
	}
	return !quoted
}
