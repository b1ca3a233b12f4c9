package render

import "strings"

// Escape writes a word so that HAProxy's runtime socket reads it as one. A word with a line break cannot be sent at all; that is checked where lines are
// sent.
func Escape(word string) string {
	if !strings.ContainsAny(word, " \t;\\") {
		return word
	}
	return escaper.Replace(word)
}

var escaper = strings.NewReplacer(`\`, `\\`, ` `, `\ `, "\t", "\\\t", `;`, `\;`)
