package snapshot

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a resource. They are those of the protocol, so that what the plane compiles can always travel and be rendered.
const (
	MaxName     = 255
	MaxWord     = 2048
	MaxWords    = 64
	MaxSlots    = 65536
	MaxPEM      = 1 << 20
	MaxMapText  = 4096
	MaxEndpoint = 1024
	// MaxResource is what all words of one resource may add up to, so that it fits a message of 4 MiB.
	MaxResource = 3 << 20
	// ServerWords is the number of words on a server line before the options of its backend.
	ServerWords = 8
)

// sections are the keywords that begin a new section. A line that began with one would end its own.
var sections = map[string]bool{
	"acme": true, "backend": true, "cache": true, "crt-store": true, "defaults": true, "dynamic-update": true, "fcgi-app": true,
	"frontend": true, "global": true, "http-errors": true, "listen": true, "log-forward": true, "log-profile": true, "mailers": true,
	"namespace_list": true, "peers": true, "program": true, "resolvers": true, "ring": true, "traces": true, "userlist": true,
}

// Check says why r may not be in a Revision: it breaks a limit, or could not be rendered as what it says. The error names r. A compiler
// calls it for what people wrote, so that one bad object harms itself alone (P10); wire and renderer refuse the same.
func Check(r Resource) error {
	err := check(r)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Key(), err)
	}
	return nil
}

func check(r Resource) error {
	switch r := r.(type) {
	case *Section:
		if err := checkTitle(r); err != nil {
			return err
		}
		return checkLines(r.Lines, 0)
	case *Backend:
		if err := CheckName(r.Name); err != nil {
			return err
		}
		if err := CheckName(r.Defaults); r.Defaults != "" && err != nil {
			return fmt.Errorf("defaults: %w", err)
		}
		if err := checkWords(r.ServerOptions); err != nil {
			return fmt.Errorf("server options: %w", err)
		}
		if len(r.ServerOptions) > MaxWords-ServerWords {
			return fmt.Errorf("server options: %d words, at most %d are possible", len(r.ServerOptions), MaxWords-ServerWords)
		}
		return checkLines(r.Lines, size(r.ServerOptions))
	case *Map:
		return checkMapName(r.Name)
	case *MapEntry:
		return checkEntry(r)
	case *Certificate:
		return checkCertificate(r)
	default:
		return fmt.Errorf("a resource of type %T is not known", r)
	}
}

// checkTitle wants words with one space between them, so that the key of a section tells its words.
func checkTitle(s *Section) error {
	if !sections[s.Type] || s.Type == "backend" {
		return fmt.Errorf("%q is not the keyword of a section without servers", s.Type)
	}
	if s.Name == "" {
		return nil
	}
	if s.Type == "global" || len(s.Name) > MaxName {
		return fmt.Errorf("the name has %d bytes, want at most %d, and none for global", len(s.Name), MaxName)
	}
	for _, w := range strings.Split(s.Name, " ") {
		if w == "" {
			return fmt.Errorf("the name %q has more than one space between two words", s.Name)
		}
		if err := checkPlain(w); err != nil {
			return fmt.Errorf("name: %w", err)
		}
	}
	return nil
}

// CheckName says why a backend, a map or a named defaults section cannot have this name.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("the name has %d bytes, want 1 to %d", len(name), MaxName)
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':') {
			return fmt.Errorf("the name %q holds a %q; letters, digits and _-.: are possible", name, c)
		}
	}
	return nil
}

// checkMapName is CheckName for a name that becomes a file's.
func checkMapName(name string) error {
	if strings.HasPrefix(name, ".") {
		return fmt.Errorf("the name %q begins with a dot", name)
	}
	return CheckName(name)
}

// CheckLine says why a line cannot be rendered: of its words, none may be empty, too long or hold a line break, and the first opens no section.
func CheckLine(l Line) error {
	if len(l) == 0 || len(l) > MaxWords {
		return fmt.Errorf("%d words, want 1 to %d", len(l), MaxWords)
	}
	if sections[l[0]] || strings.HasPrefix(l[0], ".") {
		return fmt.Errorf("word 1: %q would begin something new", l[0])
	}
	return checkWords(l)
}

func checkWords(words []string) error {
	for i, w := range words {
		if err := CheckWord(w); err != nil {
			return fmt.Errorf("word %d: %w", i+1, err)
		}
	}
	return nil
}

// CheckWord says why w cannot be a word of a line. An empty word is refused because HAProxy takes it for the end of its line, so that a
// condition after it would be lost.
func CheckWord(w string) error {
	switch {
	case w == "":
		return fmt.Errorf("it is empty, which HAProxy takes for the end of the line")
	case len(w) > MaxWord:
		return fmt.Errorf("%d bytes, at most %d are possible", len(w), MaxWord)
	case strings.ContainsAny(w, "\x00\r\n"):
		return fmt.Errorf("%q holds a line break or a NUL", w)
	case !utf8.ValidString(w):
		return fmt.Errorf("%q is not UTF-8", w)
	}
	return nil
}

func checkLines(lines []Line, total int) error {
	for i, l := range lines {
		if err := CheckLine(l); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		total += size(l)
	}
	if total > MaxResource {
		return fmt.Errorf("%d bytes, at most %d are possible", total, MaxResource)
	}
	return nil
}

// size is what the words take in a message, or a little more.
func size(words []string) int {
	n := 4
	for _, w := range words {
		n += len(w) + 3
	}
	return n
}

// checkEntry keeps an entry on its line of the map's file: HAProxy takes the text up to the first white space for the key and a leading
// '#' for a comment.
func checkEntry(e *MapEntry) error {
	if err := checkMapName(e.Map); err != nil {
		return fmt.Errorf("map: %w", err)
	}
	if err := checkMapText(e.Name); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if e.Name[0] == '#' {
		return fmt.Errorf("key: %q begins with a #", e.Name)
	}
	if err := checkMapText(e.Value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	return nil
}

func checkMapText(s string) error {
	if s == "" || len(s) > MaxMapText {
		return fmt.Errorf("%d bytes, want 1 to %d", len(s), MaxMapText)
	}
	return checkPlain(s)
}

// checkPlain refuses white space, control characters and what is not UTF-8.
func checkPlain(s string) error {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return fmt.Errorf("%q holds white space or a control character", s)
		}
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	return nil
}

func checkCertificate(x *Certificate) error {
	if x.Name == "" || len(x.Name) > MaxEndpoint {
		return fmt.Errorf("the name has %d bytes, want 1 to %d", len(x.Name), MaxEndpoint)
	}
	if err := checkPlain(x.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	total := 0
	for _, n := range x.ServerNames {
		if n == "" || len(n) > MaxName {
			return fmt.Errorf("a server name has %d bytes, want 1 to %d", len(n), MaxName)
		}
		if err := checkPlain(n); err != nil {
			return fmt.Errorf("server name: %w", err)
		}
		if strings.ContainsAny(n, "![]#") {
			return fmt.Errorf("server name: %q holds one of ![]#", n)
		}
		total += len(n) + 3
	}
	if total > MaxResource/3 {
		return fmt.Errorf("%d bytes of server names, at most %d are possible", total, MaxResource/3)
	}
	if len(x.PEM) > MaxPEM {
		return fmt.Errorf("%d bytes of PEM, at most %d are possible", len(x.PEM), MaxPEM)
	}
	if len(x.PEM) > 0 && PEMDigest(x.PEM) != x.Content {
		return fmt.Errorf("its PEM does not have the digest %s that it is known by", x.Content.Short())
	}
	return nil
}

// CheckSlot says why s cannot be in a table.
func CheckSlot(s Slot) error {
	if len(s.Endpoint) > MaxEndpoint || !utf8.ValidString(s.Endpoint) {
		return fmt.Errorf("the endpoint's name is no text of at most %d bytes", MaxEndpoint)
	}
	switch s.State {
	case Free:
		if s.Address.IsValid() || s.Port != 0 || s.Weight != 0 {
			return fmt.Errorf("a free slot has the address %s, port %d and weight %d, want none", s.Address, s.Port, s.Weight)
		}
	case Ready, Drain:
		if !s.Address.IsValid() || s.Address.Zone() != "" || s.Port == 0 {
			return fmt.Errorf("%s is no address and port of an endpoint", s.Server())
		}
		if s.Weight < 1 || s.Weight > MaxWeight {
			return fmt.Errorf("weight %d, want 1 to %d", s.Weight, MaxWeight)
		}
	default:
		return fmt.Errorf("state %d is not known", s.State)
	}
	return nil
}
