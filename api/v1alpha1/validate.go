package v1alpha1

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxSlotsMinimum bounds slots.minimum: a slot costs memory and reload time whether it is taken or not.
const MaxSlotsMinimum = 4096

// maxSurgePercent bounds slots.surgePercent: ten times the endpoints is more than any rolling update surges.
const maxSurgePercent = 1000

// Validate reports everything that is wrong with a Fleet to which Default has been applied (API-2).
func (f *Fleet) Validate() field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(f.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), f.Name, msg))
	}
	spec := field.NewPath("spec")
	errs = append(errs, f.Spec.Namespaces.validate(spec.Child("namespaces"))...)
	errs = append(errs, f.Spec.validateClasses(spec)...)
	errs = append(errs, f.Spec.Slots.validate(spec.Child("slots"))...)
	errs = append(errs, f.Spec.Timeouts.validate(spec.Child("timeouts"))...)
	return errs
}

func (s *FleetSpec) validateClasses(spec *field.Path) field.ErrorList {
	at := spec.Child("ingressClasses")
	if len(s.IngressClasses) == 0 && !s.IngressWithoutClass {
		return field.ErrorList{field.Required(at, "an empty list serves no Ingress at all; leave the field out for [berth]")}
	}
	var errs field.ErrorList
	for i, name := range s.IngressClasses {
		if slices.Contains(s.IngressClasses[:i], name) {
			errs = append(errs, field.Duplicate(at.Index(i), name))
		}
		for _, msg := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(at.Index(i), name, msg))
		}
	}
	return errs
}

// Matches says whether the objects of a namespace are selected.
func (s *NamespaceSelector) Matches(namespace string) bool {
	return matchesAny(s.Include, namespace) && !matchesAny(s.Exclude, namespace)
}

func matchesAny(globs []string, name string) bool {
	for _, glob := range globs {
		// A glob that does not parse matches nothing; Validate has refused it.
		if ok, err := path.Match(glob, name); err == nil && ok {
			return true
		}
	}
	return false
}

func (s *NamespaceSelector) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Include) == 0 {
		errs = append(errs, field.Required(at.Child("include"), `an empty list serves no namespace at all; leave the field out for ["*"]`))
	}
	errs = append(errs, validateGlobs(s.Include, at.Child("include"))...)
	return append(errs, validateGlobs(s.Exclude, at.Child("exclude"))...)
}

func validateGlobs(globs []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, glob := range globs {
		_, err := path.Match(glob, "")
		switch {
		case glob == "":
			errs = append(errs, field.Required(at.Index(i), "must not be empty"))
		case err != nil:
			errs = append(errs, field.Invalid(at.Index(i), glob, "is not a glob of *, ? and [a-z]"))
		case strings.Trim(glob, "abcdefghijklmnopqrstuvwxyz0123456789-*?[]^") != "":
			errs = append(errs, field.Invalid(at.Index(i), glob, "can match no namespace: their names are lower case letters, digits and -"))
		}
	}
	return errs
}

func (s *SlotPolicy) validate(at *field.Path) field.ErrorList {
	return append(
		validateRange(s.Minimum, 1, MaxSlotsMinimum, at.Child("minimum")),
		validateRange(s.SurgePercent, 0, maxSurgePercent, at.Child("surgePercent"))...)
}

func validateRange(value *int32, low, high int, at *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsInRange(int(*value), low, high) {
		errs = append(errs, field.Invalid(at, *value, msg))
	}
	return errs
}

func (t *Timeouts) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, t.Connect.validate(at.Child("connect"))...)
	errs = append(errs, t.Client.validate(at.Child("client"))...)
	errs = append(errs, t.Server.validate(at.Child("server"))...)
	errs = append(errs, t.HTTPKeepAlive.validate(at.Child("httpKeepAlive"))...)
	errs = append(errs, t.HardStopAfter.validate(at.Child("hardStopAfter"))...)
	idle, idleErr := t.HTTPKeepAlive.Parse()
	if stop, err := t.HardStopAfter.Parse(); err == nil && idleErr == nil && stop < idle {
		errs = append(errs, field.Invalid(at.Child("hardStopAfter"), string(t.HardStopAfter), "must not be shorter than httpKeepAlive: connections that wait for their next request would be cut off"))
	}
	return errs
}
