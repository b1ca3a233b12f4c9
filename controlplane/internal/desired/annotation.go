package desired

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Prefix of every annotation that Berth reads.
const annotationPrefix = "berth.dev/"

// Annotations are what an Ingress asks for in its annotations.
type Annotations struct {
	Settings Settings
	// SSLRedirect sends requests for hosts under a tls entry from port 80 to 443.
	SSLRedirect bool
	// Weights share the requests of paths that lead to the first service among all of them; nil where nobody asks for it.
	Weights []Weight
	// Accepted are the values in force, which the next parse of the same Ingress falls back to (P10). Nil where there are none.
	Accepted map[string]string
	Notes    []Note
}

// ParseAnnotations reads the annotations of one Ingress. A value that cannot be read leaves the last accepted one in force, and the default where
// there never was one; both are warned about.
func ParseAnnotations(given, accepted map[string]string) Annotations {
	a := Annotations{SSLRedirect: true}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		name, ours := strings.CutPrefix(key, annotationPrefix)
		if !ours {
			continue
		}
		known := slices.IndexFunc(all, func(s Setting) bool { return s.Annotation == name })
		if known < 0 {
			a.Notes = append(a.Notes, warn(fmt.Sprintf("annotation %s is unknown and has no effect; look for a typing error", clip(key))))
			continue
		}
		a.take(key, name, all[known].read, given[key], accepted)
	}
	if a.Settings.CheckInterval != "" && a.Settings.Check.Kind == "" {
		a.Notes = append(a.Notes, warn("annotation berth.dev/check-interval has no effect without berth.dev/check"))
	}
	if a.Settings.Affinity != AffinityCookie {
		for _, x := range []struct {
			name  string
			given bool
		}{{"affinity-cookie-name", a.Settings.CookieName != ""}, {"sticky-drain", a.Settings.StickyDrain != ""}} {
			if x.given {
				a.Notes = append(a.Notes, warn("annotation berth.dev/"+x.name+" has no effect without berth.dev/affinity: cookie"))
			}
		}
	}
	return a
}

func (a *Annotations) take(key, name string, read reader, value string, accepted map[string]string) {
	err := read(a, value)
	if err == nil {
		a.accept(name, value)
		return
	}
	last, ok := accepted[name]
	if !ok || read(a, last) != nil {
		a.Notes = append(a.Notes, warn(fmt.Sprintf("annotation %s: %q %s; the default is used", key, clip(value), err)))
		return
	}
	a.accept(name, last)
	a.Notes = append(a.Notes, warn(fmt.Sprintf("annotation %s: %q %s; the last good value %q stays in force", key, clip(value), err, last)))
}

func (a *Annotations) accept(name, value string) {
	if a.Accepted == nil {
		a.Accepted = map[string]string{}
	}
	a.Accepted[name] = value
}

func readBalance(into *Annotations, value string) error {
	switch b := Balance(value); b {
	case RoundRobin, LeastConn, Random, Source, URI:
		into.Settings.Balance = b
		return nil
	}
	return fmt.Errorf("must be roundrobin, leastconn, random, source or uri")
}

func readDuration(field func(*Annotations) *v1alpha1.Duration) reader {
	return func(into *Annotations, value string) error {
		d := v1alpha1.Duration(value)
		if _, err := d.Parse(); err != nil {
			return err
		}
		*field(into) = d
		return nil
	}
}

func readCheck(into *Annotations, value string) error {
	path, http := strings.CutPrefix(value, "http:")
	switch {
	case value == CheckNone, value == CheckTCP:
		into.Settings.Check = Check{Kind: value}
		return nil
	case !http:
		return fmt.Errorf("must be none, tcp or http:/path")
	}
	if err := v1alpha1.CheckPath(path); err != nil {
		return fmt.Errorf("has a path that %w", err)
	}
	into.Settings.Check = Check{Kind: CheckHTTP, Path: path}
	return nil
}

func readAffinity(into *Annotations, value string) error {
	switch x := Affinity(value); x {
	case AffinityNone, AffinityCookie:
		into.Settings.Affinity = x
		return nil
	}
	return fmt.Errorf("must be cookie or none")
}

func readCookieName(into *Annotations, value string) error {
	if err := v1alpha1.CheckCookieName(value); err != nil {
		return err
	}
	into.Settings.CookieName = value
	return nil
}

func readStickyDrain(into *Annotations, value string) error {
	switch x := StickyDrain(value); x {
	case StickyKeep, StickyBreak:
		into.Settings.StickyDrain = x
		return nil
	}
	return fmt.Errorf("must be keep or break")
}

func readProtocol(into *Annotations, value string) error {
	switch x := Protocol(value); x {
	case HTTP, H2C, HTTPS, H2:
		into.Settings.Protocol = x
		return nil
	}
	return fmt.Errorf("must be http, h2c, https or h2")
}

func readSSLRedirect(into *Annotations, value string) error {
	switch value {
	case "true":
		into.SSLRedirect = true
	case "false":
		into.SSLRedirect = false
	default:
		return fmt.Errorf("must be true or false")
	}
	return nil
}

func readSlotsMinimum(into *Annotations, value string) error {
	return readNumber(&into.Settings.SlotsMinimum, value, v1alpha1.MaxSlotsMinimum)
}

func readMaxConnections(into *Annotations, value string) error {
	return readNumber(&into.Settings.MaxConnections, value, v1alpha1.MaxConnectionsPerPod)
}

// readNumber takes decimal digits only: what strconv also takes, such as "+5" and "007", is nothing that somebody means.
func readNumber(into *int, value string, most int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most || value != strconv.Itoa(n) {
		return fmt.Errorf("must be a number from 1 to %d", most)
	}
	*into = n
	return nil
}

// clip keeps what somebody wrote short enough to be quoted in a reason.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
