package manifest

import (
	"bytes"
	"iter"
)

// chunk is the text of one YAML document, its "---" included, and the line of the file on which the text and its first content
// begin.
type chunk struct {
	text        []byte
	start, line int
}

// split cuts a file at its document markers. A marker at the beginning of a line ends whatever stood before it, a block scalar
// included: YAML says so, so this needs no parser. Documents of nothing but comments and directives are left out; directives
// stay with the document after them.
func split(data []byte) iter.Seq[chunk] {
	data = breaks(data)
	return func(yield func(chunk) bool) {
		current := chunk{start: 1}
		begin, line, marked, directives := 0, 0, false, false
		flush := func(end int) bool {
			if directives && !marked {
				current.line = current.start // directives without a document: the parser says what is wrong
			}
			current.text = data[begin:end]
			return current.line == 0 || yield(current)
		}
		for at := 0; at < len(data); {
			line++
			next := len(data)
			if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
				next = at + i + 1
			}
			text := data[at:next]
			switch {
			case isMarker(text, "---"):
				if marked || current.line != 0 { // otherwise what stood before are this document's directives
					if !flush(at) {
						return
					}
					begin, current = at, chunk{start: line}
				}
				marked = true
				if isContent(text[3:]) {
					current.line = line
				}
			case isMarker(text, "..."):
				if !flush(at) {
					return
				}
				begin, current, marked, directives = next, chunk{start: line + 1}, false, false
			case current.line == 0 && text[0] == '%' && !marked:
				directives = true
			case current.line == 0 && isContent(text):
				current.line = line
			}
			at = next
		}
		flush(len(data))
	}
}

// breaks writes every line break as a line feed, as YAML reads them; otherwise a marker after a lone carriage return would hide
// a document.
func breaks(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\n"), rest[0]) >= 0)
}

// isContent says whether a line holds more than space and a comment.
func isContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\n")
	return len(line) > 0 && line[0] != '#'
}
