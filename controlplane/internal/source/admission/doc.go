// Package admission does to an object what the Kubernetes API does before it stores one: it fills in defaults and validates.
// A decoder alone does neither, and who writes YAML into a directory has no API in between.
//
// The package is pure: it looks at one object, alters it only by filling in defaults and leaving out entries, and knows no file,
// no clock and no other object. What it says names the field and what is wrong with it.
//
// It differs from the API on purpose in three things:
//
//   - an endpoint or a port entry of an EndpointSlice that is not valid is left out with a warning, and the rest stays;
//   - 127.0.0.0/8 is allowed as an endpoint's address, for pods that are processes on this machine;
//   - fields that Berth never reads (a Service's node ports, a session affinity's details …) are not looked at.
//
// Invariants:
//
//	ADM-1  An object that is admitted would be admitted by the API, but for the second difference above.
//	ADM-2  Admit is idempotent: what it admitted it admits again, unchanged and without new warnings.
//	ADM-3  One bad entry of an EndpointSlice takes nothing else with it.
package admission
