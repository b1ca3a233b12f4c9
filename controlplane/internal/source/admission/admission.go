package admission

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// DefaultNamespace is where an object lives that does not say so.
const DefaultNamespace = "default"

// Admit fills in what the object leaves out and checks it. With errors the object is rejected; the warnings stand either way.
// The object must not have been delivered yet: Admit changes it.
func Admit(object source.Object) (warnings []string, errs field.ErrorList) {
	kind, ok := source.KindOf(object)
	if !ok {
		panic(fmt.Sprintf("BUG: admission of a %T", object))
	}
	warnings = defaultNamespace(kind, object)
	errs = validateMetadata(kind, object)
	switch o := object.(type) {
	case *corev1.Service:
		defaultService(o)
		errs = append(errs, validateService(o)...)
	case *discoveryv1.EndpointSlice:
		defaultSlice(o)
		warnings = append(warnings, leaveOut(o)...)
		errs = append(errs, validateSlice(o)...)
	case *networkingv1.Ingress:
		errs = append(errs, validateIngress(o)...)
	case *networkingv1.IngressClass:
		errs = append(errs, validateIngressClass(o)...)
	case *corev1.Secret:
		defaultSecret(o)
		errs = append(errs, validateSecret(o)...)
	case *v1alpha1.Fleet:
		o.Default()
		errs = append(errs, o.Validate().Filter(isAboutName)...)
	case *v1alpha1.BackendPolicy:
		errs = append(errs, o.Validate().Filter(isAboutName)...)
	}
	return warnings, errs
}

// isAboutName finds what is checked for every kind already.
func isAboutName(err error) bool {
	var about *field.Error
	return errors.As(err, &about) && about.Field == "metadata.name"
}

func defaultNamespace(kind source.Kind, object source.Object) []string {
	switch namespace := object.GetNamespace(); {
	case kind.Namespaced() && namespace == "":
		object.SetNamespace(DefaultNamespace)
	case !kind.Namespaced() && namespace != "":
		object.SetNamespace("")
		return []string{fmt.Sprintf("metadata.namespace: %q is ignored, %s objects live in no namespace", namespace, kind)}
	}
	return nil
}

func validateMetadata(kind source.Kind, object source.Object) field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if object.GetName() == "" {
		errs = append(errs, field.Required(path.Child("name"), "nobody generates names here"))
	} else {
		errs = append(errs, invalid(path.Child("name"), object.GetName(), nameCheck(kind))...)
	}
	if kind.Namespaced() {
		errs = append(errs, invalid(path.Child("namespace"), object.GetNamespace(), validation.IsDNS1123Label)...)
	}
	errs = append(errs, metav1validation.ValidateLabels(object.GetLabels(), path.Child("labels"))...)
	return append(errs, apivalidation.ValidateAnnotations(object.GetAnnotations(), path.Child("annotations"))...)
}

func nameCheck(kind source.Kind) func(string) []string {
	if kind == source.KindService {
		return validation.IsDNS1035Label
	}
	return validation.IsDNS1123Subdomain
}

// invalid runs a check that answers with messages.
func invalid(path *field.Path, value string, check func(string) []string) field.ErrorList {
	if messages := check(value); len(messages) > 0 {
		return field.ErrorList{field.Invalid(path, value, strings.Join(messages, "; "))}
	}
	return nil
}

func invalidPort(path *field.Path, port int32) field.ErrorList {
	if messages := validation.IsValidPortNum(int(port)); len(messages) > 0 {
		return field.ErrorList{field.Invalid(path, port, strings.Join(messages, "; "))}
	}
	return nil
}

// oneOf checks a value against a closed list.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}
