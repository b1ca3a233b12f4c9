package haproxy

import (
	"fmt"
	"slices"
	"strings"
)

// What HAProxy says in words is judged in this file and nowhere else. The texts are those of 2.6 and 3.4, found by trying: see TestJudgeLive.

// done are, by the first two words of a command, what the answers contain that say that it was done. An empty answer says so too; and to any other
// command only an empty answer does.
var done = map[string]string{
	"add server":        "New server registered.",
	"del server":        "Server deleted.",
	"prepare map":       "New version created: ",
	"add backend":       "New backend registered.",
	"del backend":       "Backend deleted.",
	"publish backend":   "Backend published.",
	"unpublish backend": "Backend unpublished.",
	"new ssl":           "New empty ",
	"set ssl":           "Transaction ",
	"commit ssl":        "Success!",
	"abort ssl":         "Transaction aborted ",
	"add ssl":           "Success!",
	"del ssl":           " deleted",
}

// asking are the first words of commands that change nothing, so that any text may be their answer.
var asking = []string{"show", "get", "help", "echo", "prompt"}

// reasons are the texts of HAProxy that are known, with what they mean. The first that is found counts.
var reasons = []struct {
	text string
	err  error
}{
	{"Proxy is disabled", ErrStopping},
	{"No such backend", ErrNoSuchBackend},
	{"Can't find backend", ErrNoSuchBackend},
	{"No such server", ErrNoSuchServer},
	{"Invalid addr", ErrInvalidAddress},
	{"problem converting port", ErrInvalidAddress},
	{"Unknown command", ErrUnknownCommand},
	{"Unknown map identifier", ErrNoSuchMap},
	{"entry not found", ErrNoSuchEntry},
	{"Key not found", ErrNoSuchEntry},
	{"Already exists a server", ErrExists},
	{" already used", ErrExists},
	{" already exists", ErrExists},
	{"Only servers in maintenance mode can be deleted", ErrInUse},
	{"Server still has connections attached", ErrInUse},
	{"Only a backend without server", ErrInUse},
	{"Backend must be unpublished", ErrInUse},
	{"Backend must use a dynamic load balancing", ErrStatic},
	{"Backend does not support dynamic servers", ErrStatic},
}

// judge says what the answer to a command means.
func judge(command, answer string) error {
	text := strings.TrimSpace(answer)
	if text == "" {
		return nil
	}
	words := strings.Fields(command)
	if succeeded(words, text) {
		return nil
	}
	asks := len(words) > 0 && slices.Contains(asking, words[0])
	short := text[:min(len(text), maxWords)]
	for _, r := range reasons {
		// What was asked for may hold any words, such as the values of a map: only its beginning can be a refusal.
		if at := strings.Index(short, r.text); at == 0 || at > 0 && !asks {
			return fmt.Errorf("%w: %s", r.err, short)
		}
	}
	if asks {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRefused, short)
}

func succeeded(words []string, text string) bool {
	switch {
	case len(words) > 0 && words[0] == "wait":
		return text == "Done."
	case len(words) < 2:
		return false
	case words[0] == "set" && words[1] == "server" && slices.Contains(words, "addr"):
		return addressChanged(text)
	}
	sign, ok := done[words[0]+" "+words[1]]
	return ok && strings.Contains(text, sign)
}

// addressChanged reads the answer to `set server … addr`, which tells of the address and the port: "IP changed from 'A' to 'B', port changed from …".
// What has not changed is either told or left out, by version.
func addressChanged(text string) bool {
	text = strings.TrimSuffix(text, " by 'stats socket command'")
	for part := range strings.SplitSeq(text, ", ") {
		switch {
		case strings.HasPrefix(part, "IP changed from "), strings.HasPrefix(part, "port changed from "):
		case strings.HasPrefix(part, "no need to change the "), part == "nothing changed":
		default:
			return false
		}
	}
	return true
}

// maxWords bounds what is told of an answer: an unknown command is answered with the whole help.
const maxWords = 300
