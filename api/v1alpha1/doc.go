// Package v1alpha1 holds the Kubernetes types of Berth's own kinds, in the group berth.dev.
//
// The package owns the words of these kinds and nothing else: their fields, their defaults, their validation and their
// registration in a scheme. It reads nothing, keeps nothing and depends on k8s.io/apimachinery only, so that both sides of
// Berth (and other people's programs) can import it without client-go.
//
// Invariants:
//
//	API-1  Default is idempotent and changes only what was left out: a value that was given is kept, even a wrong one.
//	API-2  Validate changes nothing, and what it accepts (after Default) needs no further check by who uses it.
//	API-3  A Duration keeps the text that it was given, so that it can be rendered with the same unit.
//	API-4  What NewFleet gives, after Default, is what a plane serves when there is no Fleet object at all.
//
// +kubebuilder:object:generate=true
// +groupName=berth.dev
package v1alpha1
