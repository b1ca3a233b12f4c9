package desired

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxHost  = 253
	maxLabel = 63
	// maxPath leaves room for the longest host before the path and the slash after it in the key of a map, which may have 4,096 bytes.
	maxPath = 3072
)

// Host brings the host of a rule or of a tls entry into the form in which requests are looked up: lower case, without the trailing dot. A first label of "*"
// stands for exactly one label. The empty host is any.
func Host(raw string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(raw, "."))
	if host == "" && raw == "" {
		return "", nil
	}
	name := host
	if rest, wild := strings.CutPrefix(host, "*."); wild {
		name = rest
	}
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("host %q %w", clip(raw), err)
	}
	if len(host) > maxHost {
		return "", fmt.Errorf("host %q is longer than %d bytes", clip(raw), maxHost)
	}
	return host, nil
}

func checkName(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("is an address; write a DNS name, or leave the host out for any")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return fmt.Errorf("has a label that is empty or longer than %d bytes", maxLabel)
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Errorf("is not a DNS name; it may hold letters, digits and inner hyphens, and * as the whole first of several labels")
		}
	}
	return nil
}

// Covers says whether a host pattern of a tls entry covers a host of a rule: it is the same, or its wildcard stands for the first label.
func Covers(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, wild := strings.CutPrefix(pattern, "*")
	_, rest, dotted := strings.Cut(host, ".")
	return wild && dotted && "."+rest == suffix
}

// Match says how a route's path is compared.
type Match uint8

// Exact compares whole paths, Prefix whole elements. Default is what a host's unmatched paths go to.
const (
	Exact Match = iota + 1
	Prefix
	Default
)

func (m Match) String() string {
	switch m {
	case Exact:
		return "Exact"
	case Prefix:
		return "Prefix"
	case Default:
		return "Default"
	default:
		return "Unknown"
	}
}

// CleanPath checks a path and brings a prefix into its one form: without the slash at its end, "/" excepted.
func CleanPath(match Match, raw string) (string, error) {
	if raw == "" && match == Prefix {
		return "/", nil
	}
	if err := checkPath(raw); err != nil {
		return "", err
	}
	if match != Prefix {
		return raw, nil
	}
	if trimmed := strings.TrimRight(raw, "/"); trimmed != "" {
		return trimmed, nil
	}
	return "/", nil
}

func checkPath(raw string) error {
	switch {
	case !strings.HasPrefix(raw, "/"):
		return fmt.Errorf("does not start with a slash")
	case len(raw) > maxPath:
		return fmt.Errorf("is longer than %d bytes", maxPath)
	case !isClean(raw):
		return fmt.Errorf("holds white space, a control character or what is not UTF-8; write such bytes as %%XX")
	}
	return nil
}

// notInRequests gives the first character that the path of a request never holds as it is, "" if there is none: it would end the path, or
// clients write it as %XX.
func notInRequests(path string) string {
	for _, r := range path {
		if r >= utf8.RuneSelf || r == '?' || r == '#' {
			return string(r)
		}
	}
	return ""
}

// isClean says that s is text without white space and control characters (WANT-3).
func isClean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
