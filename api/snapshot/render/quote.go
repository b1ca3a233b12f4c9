package render

import (
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
)

// plain are the bytes that stand for themselves in HAProxy's configuration, wherever in a word.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c > ' ' && c < 0x7f && !strings.ContainsRune("'\"\\#$`;", rune(c))
	}
	return t
}()

// Quote writes a line of the configuration, without indentation or line break. The error says which word cannot be written.
func Quote(l snapshot.Line) (string, error) {
	if err := snapshot.CheckLine(l); err != nil {
		return "", err
	}
	return string(appendWords(nil, l)), nil
}

func appendWords(b []byte, words []string) []byte {
	for i, w := range words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendWord(b, w)
	}
	return b
}

// appendWord puts the word into single quotes, in which HAProxy takes everything as it is, when a byte of it could mean something.
func appendWord(b []byte, w string) []byte {
	quoted := false
	for i := range len(w) {
		if !plain[w[i]] {
			quoted = true
			break
		}
	}
	if !quoted {
		return append(b, w...)
	}
	b = append(b, '\'')
	for i := range len(w) {
		if w[i] == '\'' {
			b = append(b, `'\''`...)
		} else {
			b = append(b, w[i])
		}
	}
	return append(b, '\'')
}
