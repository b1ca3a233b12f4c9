package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxConnectionsPerPod bounds the requests that a node has under way at one pod.
const MaxConnectionsPerPod = 1000000

const (
	maxTargets    = 16
	maxCookieName = 64
	maxCheckPath  = 1024
)

// What the fields of a BackendPolicy may say.
var (
	balances     = []Balance{"roundrobin", "leastconn", "random", "source", "uri"}
	protocols    = []Protocol{"http", "h2c", "https", "h2"}
	stickyDrains = []StickyDrain{"keep", "break"}
)

// Validate reports everything that is wrong with a BackendPolicy (API-2). Whether there are such Services and ports is not its business.
func (p *BackendPolicy) Validate() field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(p.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), p.Name, msg))
	}
	spec := field.NewPath("spec")
	errs = append(errs, p.Spec.validateTargets(spec.Child("targetRefs"))...)
	errs = append(errs, oneOf(p.Spec.Balance, balances, spec.Child("balance"))...)
	errs = append(errs, p.Spec.Timeouts.validate(spec.Child("timeouts"))...)
	errs = append(errs, p.Spec.Affinity.validate(spec.Child("affinity"))...)
	errs = append(errs, p.Spec.Check.validate(spec.Child("check"))...)
	errs = append(errs, oneOf(p.Spec.Protocol, protocols, spec.Child("protocol"))...)
	errs = append(errs, validateRange(p.Spec.Slots.Minimum, 1, MaxSlotsMinimum, spec.Child("slots", "minimum"))...)
	return append(errs, validateRange(p.Spec.MaxConnectionsPerPod, 1, MaxConnectionsPerPod, spec.Child("maxConnectionsPerPod"))...)
}

func (s *BackendPolicySpec) validateTargets(at *field.Path) field.ErrorList {
	switch n := len(s.TargetRefs); {
	case n == 0:
		return field.ErrorList{field.Required(at, "a policy that names no Service is for nothing")}
	case n > maxTargets:
		return field.ErrorList{field.TooMany(at, n, maxTargets)}
	}
	var errs field.ErrorList
	for i := range s.TargetRefs {
		t, here := &s.TargetRefs[i], at.Index(i)
		for _, text := range []struct{ name, value string }{{"kind", t.Kind}, {"name", t.Name}} {
			if text.value == "" {
				errs = append(errs, field.Required(here.Child(text.name), "must not be empty"))
			}
		}
		if t.SectionName != nil && *t.SectionName == "" {
			errs = append(errs, field.Required(here.Child("sectionName"), "must not be empty; leave it out for all ports"))
		}
		for _, text := range []struct{ name, value string }{{"group", t.Group}, {"kind", t.Kind}, {"name", t.Name}, {"sectionName", t.Section()}} {
			if len(text.value) > validation.DNS1123SubdomainMaxLength {
				errs = append(errs, field.TooLong(here.Child(text.name), "", validation.DNS1123SubdomainMaxLength))
			}
		}
	}
	return errs
}

// Section is the name of the port that is meant, empty for all.
func (t *PolicyTarget) Section() string {
	if t.SectionName == nil {
		return ""
	}
	return *t.SectionName
}

func oneOf[T ~string](value T, allowed []T, at *field.Path) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, allowed)}
}

func (t *BackendTimeouts) validate(at *field.Path) field.ErrorList {
	return append(append(
		t.Connect.optional(at.Child("connect")),
		t.Server.optional(at.Child("server"))...),
		t.Queue.optional(at.Child("queue"))...)
}

// optional is validate for a time that may be left out.
func (d Duration) optional(at *field.Path) field.ErrorList {
	if d == "" {
		return nil
	}
	return d.validate(at)
}

func (a *Affinity) validate(at *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	errs := oneOf(a.StickyDrain, stickyDrains, at.Child("stickyDrain"))
	if a.Cookie == nil {
		if a.StickyDrain != "" {
			errs = append(errs, field.Required(at.Child("cookie"), "without it no client is sticky; leave stickyDrain out as well to switch affinity off"))
		}
		return errs
	}
	if name := a.Cookie.Name; name != "" {
		if err := CheckCookieName(name); err != nil {
			errs = append(errs, field.Invalid(at.Child("cookie", "name"), name, err.Error()))
		}
	}
	return errs
}

func (c *HealthCheck) validate(at *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := c.Interval.optional(at.Child("interval"))
	switch {
	case c.HTTP != nil && c.TCP != nil:
		errs = append(errs, field.Forbidden(at.Child("tcp"), "a check is by http or by tcp"))
	case c.HTTP == nil && c.TCP == nil && c.Interval != "":
		errs = append(errs, field.Required(at.Child("http"), "an interval needs http or tcp; leave it out as well to switch checks off"))
	case c.HTTP != nil:
		if err := CheckPath(c.HTTP.Path); err != nil {
			errs = append(errs, field.Invalid(at.Child("http", "path"), c.HTTP.Path, err.Error()))
		}
	}
	return errs
}

// CheckPath says why a check cannot ask for this path, with its query; the error reads well after the name of a field.
func CheckPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("must start with /")
	case len(path) > maxCheckPath:
		return fmt.Errorf("must be at most %d bytes", maxCheckPath) // it fits HAProxy's buffer with room for the rest of the request
	}
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return fmt.Errorf("holds %q, which no request can; write it as %%XX", c)
		}
	}
	return nil
}

// CheckCookieName says why a cookie for session affinity cannot have this name; the error reads well after the name of a field. What a browser would take is
// more, but such a name would have to be quoted somewhere on its way.
func CheckCookieName(name string) error {
	if name == "" || len(name) > maxCookieName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" {
		return fmt.Errorf("must be 1 to %d letters, digits and the characters . _ and -", maxCookieName)
	}
	if lower := strings.ToLower(name); strings.HasPrefix(lower, "__host-") || strings.HasPrefix(lower, "__secure-") {
		return fmt.Errorf("begins with a prefix that browsers take from pages over TLS only, while the cookie is used over both")
	}
	return nil
}
