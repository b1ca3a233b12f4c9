package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func defaultService(s *corev1.Service) {
	if s.Spec.Type == "" {
		s.Spec.Type = corev1.ServiceTypeClusterIP
	}
	if s.Spec.SessionAffinity == "" {
		s.Spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
}

func validateService(s *corev1.Service) field.ErrorList {
	spec := field.NewPath("spec")
	errs := oneOf(spec.Child("type"), s.Spec.Type,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName)
	errs = append(errs, oneOf(spec.Child("sessionAffinity"), s.Spec.SessionAffinity, corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)...)
	headless, external := s.Spec.ClusterIP == corev1.ClusterIPNone, s.Spec.Type == corev1.ServiceTypeExternalName
	if external {
		// A dot at its end says that it is a whole name.
		errs = append(errs, invalid(spec.Child("externalName"), strings.TrimSuffix(s.Spec.ExternalName, "."), validation.IsDNS1123Subdomain)...)
	}
	if len(s.Spec.Ports) == 0 && !headless && !external {
		errs = append(errs, field.Required(spec.Child("ports"), "a service that is not headless has at least one"))
	}
	errs = append(errs, validateServicePorts(s.Spec.Ports, spec.Child("ports"))...)
	return append(errs, validateFamilies(&s.Spec, spec)...)
}

func validateServicePorts(ports []corev1.ServicePort, path *field.Path) field.ErrorList {
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	var errs field.ErrorList
	names, numbers := map[string]bool{}, map[number]bool{}
	for i := range ports {
		p, at := &ports[i], path.Index(i)
		switch {
		case p.Name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), "with several ports each has a name"))
		case p.Name != "" && names[p.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), p.Name))
		case p.Name != "":
			errs = append(errs, invalid(at.Child("name"), p.Name, validation.IsDNS1123Label)...)
		}
		names[p.Name] = true
		if key := (number{p.Protocol, p.Port}); numbers[key] {
			errs = append(errs, field.Duplicate(at.Child("port"), p.Port))
		} else {
			numbers[key] = true
		}
		errs = append(errs, invalidPort(at.Child("port"), p.Port)...)
		errs = append(errs, validateTarget(p.TargetPort, at.Child("targetPort"))...)
		errs = append(errs, validateProtocol(p.Protocol, at.Child("protocol"))...)
		if p.AppProtocol != nil {
			errs = append(errs, invalid(at.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName)...)
		}
	}
	return errs
}

func validateTarget(target intstr.IntOrString, path *field.Path) field.ErrorList {
	if target.Type == intstr.String {
		return invalid(path, target.StrVal, validation.IsValidPortName)
	}
	return invalidPort(path, target.IntVal)
}

func validateProtocol(protocol corev1.Protocol, path *field.Path) field.ErrorList {
	return oneOf(path, protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
}

func validateFamilies(s *corev1.ServiceSpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := spec.Child("ipFamilies")
	for i, family := range s.IPFamilies {
		errs = append(errs, oneOf(path.Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
	}
	if len(s.IPFamilies) == 2 && s.IPFamilies[0] == s.IPFamilies[1] {
		errs = append(errs, field.Duplicate(path.Index(1), s.IPFamilies[1]))
	}
	if len(s.IPFamilies) > 2 {
		errs = append(errs, field.TooMany(path, len(s.IPFamilies), 2))
	}
	if s.IPFamilyPolicy != nil {
		errs = append(errs, oneOf(spec.Child("ipFamilyPolicy"), *s.IPFamilyPolicy,
			corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)...)
	}
	return errs
}
