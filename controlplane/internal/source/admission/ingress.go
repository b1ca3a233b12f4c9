package admission

import (
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// classAnnotation is how Ingresses named their class before they had a field for it.
const classAnnotation = "kubernetes.io/ingress.class"

func validateIngress(ing *networkingv1.Ingress) field.ErrorList {
	spec, path := &ing.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Required(path, "must have defaultBackend or rules"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, validateBackend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for i := range spec.Rules {
		errs = append(errs, validateRule(&spec.Rules[i], path.Child("rules").Index(i))...)
	}
	for i := range spec.TLS {
		errs = append(errs, validateTLS(&spec.TLS[i], path.Child("tls").Index(i))...)
	}
	return append(errs, validateClass(ing, path)...)
}

func validateClass(ing *networkingv1.Ingress, spec *field.Path) field.ErrorList {
	class := ing.Spec.IngressClassName
	if class == nil {
		return nil
	}
	errs := invalid(spec.Child("ingressClassName"), *class, validation.IsDNS1123Subdomain)
	if old, ok := ing.Annotations[classAnnotation]; ok && old != *class {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(classAnnotation), old,
			"must match spec.ingressClassName when both are given"))
	}
	return errs
}

func validateRule(rule *networkingv1.IngressRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if rule.Host != "" {
		errs = append(errs, validateHost(rule.Host, path.Child("host"))...)
	}
	if rule.HTTP == nil {
		return errs
	}
	paths := path.Child("http", "paths")
	if len(rule.HTTP.Paths) == 0 {
		errs = append(errs, field.Required(paths, "must have at least one"))
	}
	for i := range rule.HTTP.Paths {
		errs = append(errs, validatePath(&rule.HTTP.Paths[i], paths.Index(i))...)
		errs = append(errs, validateBackend(&rule.HTTP.Paths[i].Backend, paths.Index(i).Child("backend"))...)
	}
	return errs
}

// ValidHost says whether an Ingress can name the host: a domain name in lower case, or a wildcard of one label before one.
func ValidHost(host string) bool { return len(validateHost(host, nil)) == 0 }

func validateHost(host string, path *field.Path) field.ErrorList {
	if _, err := netip.ParseAddr(host); err == nil {
		return field.ErrorList{field.Invalid(path, host, "must be a domain name, not an IP address")}
	}
	if strings.Contains(host, "*") {
		return invalid(path, host, validation.IsWildcardDNS1123Subdomain)
	}
	return invalid(path, host, validation.IsDNS1123Subdomain)
}

func validatePath(p *networkingv1.HTTPIngressPath, path *field.Path) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "must be Exact, Prefix or ImplementationSpecific")}
	}
	errs := oneOf(path.Child("pathType"), *p.PathType,
		networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific)
	if len(errs) > 0 {
		return errs
	}
	strict := *p.PathType != networkingv1.PathTypeImplementationSpecific
	return invalid(path.Child("path"), p.Path, func(text string) []string { return checkPath(text, strict) })
}

// checkPath refuses paths that mean one thing to the Ingress and another to a proxy that normalises. An empty path is any, where
// the implementation decides.
func checkPath(path string, strict bool) []string {
	if path == "" && !strict {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return []string{"must be an absolute path"}
	}
	if !strict {
		return nil
	}
	var messages []string
	for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, part) {
			messages = append(messages, fmt.Sprintf("must not contain %q", part))
		}
	}
	for _, end := range []string{"/..", "/."} {
		if strings.HasSuffix(path, end) {
			messages = append(messages, fmt.Sprintf("must not end with %q", end))
		}
	}
	return messages
}

func validateBackend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case b.Service != nil && b.Resource != nil:
		return field.ErrorList{field.Invalid(path, "", "must have service or resource, not both")}
	case b.Service != nil:
		return validateServiceBackend(b.Service, path.Child("service"))
	case b.Resource == nil:
		return field.ErrorList{field.Required(path, "must have service or resource")}
	case b.Resource.Kind == "" || b.Resource.Name == "":
		return field.ErrorList{field.Required(path.Child("resource"), "must have kind and name")}
	}
	return nil
}

func validateServiceBackend(s *networkingv1.IngressServiceBackend, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must name a service"))
	} else {
		errs = append(errs, invalid(path.Child("name"), s.Name, validation.IsDNS1035Label)...)
	}
	port := path.Child("port")
	switch {
	case s.Port.Name != "" && s.Port.Number != 0:
		return append(errs, field.Invalid(port, "", "must have name or number, not both"))
	case s.Port.Name != "":
		return append(errs, invalid(port.Child("name"), s.Port.Name, validation.IsValidPortName)...)
	case s.Port.Number != 0:
		return append(errs, invalidPort(port.Child("number"), s.Port.Number)...)
	}
	return append(errs, field.Required(port, "must have name or number"))
}

func validateTLS(tls *networkingv1.IngressTLS, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, host := range tls.Hosts {
		errs = append(errs, validateHost(host, path.Child("hosts").Index(i))...)
	}
	if tls.SecretName != "" {
		errs = append(errs, invalid(path.Child("secretName"), tls.SecretName, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

// maxController is the longest controller name that the API takes.
const maxController = 250

func validateIngressClass(class *networkingv1.IngressClass) field.ErrorList {
	path := field.NewPath("spec", "controller")
	if len(class.Spec.Controller) > maxController {
		return field.ErrorList{field.TooLong(path, "", maxController)}
	}
	return validation.IsDomainPrefixedPath(path, class.Spec.Controller)
}
