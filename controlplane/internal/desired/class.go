package desired

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

// Class is what matters of an IngressClass object.
type Class struct {
	// Controller is who serves the class.
	Controller string
	// Default: Ingresses that name no class are of this one.
	Default bool
}

// ParseClass reads an IngressClass.
func ParseClass(obj *networkingv1.IngressClass) Class {
	return Class{
		Controller: obj.Spec.Controller,
		Default:    obj.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true",
	}
}

func (c Class) ours() bool { return c.Controller == v1alpha1.ControllerName }

// Serves says whether a fleet serves an Ingress. classes are the class objects of the Ingress's cluster by name. A class needs no object, but where there is one
// it must name Berth's controller. The spec must have its defaults filled in.
func Serves(spec *v1alpha1.FleetSpec, classes map[string]Class, ing *Ingress) bool {
	if !spec.Namespaces.Matches(ing.Ref.Namespace) {
		return false
	}
	if ing.AnyClass {
		return true
	}
	if ing.HasClass {
		class, exists := classes[ing.Class]
		return slices.Contains(spec.IngressClasses, ing.Class) && (!exists || class.ours())
	}
	if spec.IngressWithoutClass {
		return true
	}
	return slices.ContainsFunc(spec.IngressClasses, func(name string) bool {
		return classes[name].Default && classes[name].ours()
	})
}

// ClassNotes says what is wrong with a class object for a fleet that names it.
func ClassNotes(spec *v1alpha1.FleetSpec, name string, class Class) []Note {
	if class.ours() || !slices.Contains(spec.IngressClasses, name) {
		return nil
	}
	return []Note{warn(fmt.Sprintf("names the controller %q, so its Ingresses are not served although the fleet lists the class; set spec.controller to %s",
		clip(class.Controller), v1alpha1.ControllerName))}
}
