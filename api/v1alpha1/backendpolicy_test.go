package v1alpha1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func policy(t *testing.T, spec string) *BackendPolicy {
	t.Helper()
	p := &BackendPolicy{}
	d := json.NewDecoder(strings.NewReader(`{"apiVersion":"berth.dev/v1alpha1","kind":"BackendPolicy","metadata":{"name":"web","namespace":"shop"},"spec":{` + spec + `}}`))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return p
}

const target = `"targetRefs":[{"group":"","kind":"Service","name":"web"}]`

// API-2: what is accepted is what HAProxy can be told; each fault is named with its field.
func TestBackendPolicyValidate(t *testing.T) {
	for _, spec := range []string{
		target, `"targetRefs":[{"kind":"Service","name":"web","sectionName":"http"},{"group":"example.com","kind":"Other","name":"x"}]`,
		target + `,"balance":"leastconn","timeouts":{"connect":"500ms","server":"60s","queue":"5s"},"affinity":{"cookie":{"name":"berth"},"stickyDrain":"break"},` +
			`"check":{"http":{"path":"/ready"},"interval":"2s"},"protocol":"h2c","slots":{"minimum":8},"maxConnectionsPerPod":200`,
		target + `,"affinity":{}`, target + `,"affinity":{"cookie":{}}`, target + `,"check":{}`, target + `,"check":{"tcp":{}}`, target + `,"check":{"http":{"path":"/a?b='c\"%20"}}`,
	} {
		if errs := policy(t, spec).Validate(); len(errs) > 0 {
			t.Errorf("%s: %v", spec, errs)
		}
	}
	for spec, want := range map[string]string{
		``:                                     "spec.targetRefs: Required",
		`"targetRefs":[]`:                      "spec.targetRefs: Required",
		`"targetRefs":[{"kind":"","name":""}]`: "spec.targetRefs[0].kind: Required; spec.targetRefs[0].name: Required",
		`"targetRefs":[{"kind":"Service","name":"web","sectionName":""}]`:                                              "spec.targetRefs[0].sectionName: Required",
		`"targetRefs":[` + strings.Repeat(`{"kind":"Service","name":"web"},`, 16) + `{"kind":"Service","name":"web"}]`: "spec.targetRefs: Too many",
		target + `,"balance":"static-rr"`:                          "spec.balance: Unsupported",
		target + `,"timeouts":{"server":"never"}`:                  "spec.timeouts.server: Invalid",
		target + `,"timeouts":{"queue":"0s"}`:                      "spec.timeouts.queue: Invalid",
		target + `,"affinity":{"stickyDrain":"keep"}`:              "spec.affinity.cookie: Required",
		target + `,"affinity":{"cookie":{},"stickyDrain":"maint"}`: "spec.affinity.stickyDrain: Unsupported",
		target + `,"affinity":{"cookie":{"name":"a b"}}`:           "spec.affinity.cookie.name: Invalid",
		target + `,"affinity":{"cookie":{"name":"__Host-a"}}`:      "spec.affinity.cookie.name: Invalid",
		target + `,"check":{"http":{"path":"/"},"tcp":{}}`:         "spec.check.tcp: Forbidden",
		target + `,"check":{"interval":"5s"}`:                      "spec.check.http: Required",
		target + `,"check":{"http":{"path":"ready"}}`:              "spec.check.http.path: Invalid",
		target + `,"check":{"http":{"path":"/a\nserver x"}}`:       "spec.check.http.path: Invalid",
		target + `,"check":{"http":{"path":"/ü"}}`:                 "spec.check.http.path: Invalid",
		target + `,"check":{"tcp":{},"interval":"often"}`:          "spec.check.interval: Invalid",
		target + `,"protocol":"grpc"`:                              "spec.protocol: Unsupported",
		target + `,"slots":{"minimum":0}`:                          "spec.slots.minimum: Invalid",
		target + `,"slots":{"minimum":4097}`:                       "spec.slots.minimum: Invalid",
		target + `,"maxConnectionsPerPod":0`:                       "spec.maxConnectionsPerPod: Invalid",
		target + `,"maxConnectionsPerPod":-1,"balance":"x"`:        "spec.balance: Unsupported; spec.maxConnectionsPerPod: Invalid",
	} {
		var got []string
		for _, err := range policy(t, spec).Validate() {
			at, rest, _ := strings.Cut(err.Error(), ": ")
			what, _, _ := strings.Cut(rest, " value")
			got = append(got, at+": "+strings.SplitN(what, ":", 2)[0])
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s, want %s", spec, strings.Join(got, "; "), want)
		}
	}
}

// A group that is there and empty says something, and must not be lost on its way through a client.
func TestBackendPolicyKeepsEmptyGroups(t *testing.T) {
	p := policy(t, target+`,"affinity":{},"check":{"tcp":{}}`)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	again := &BackendPolicy{}
	if err := json.Unmarshal(text, again); err != nil || !reflect.DeepEqual(p, again) || again.Spec.Affinity == nil || again.Spec.Check.TCP == nil {
		t.Errorf("%v: %s", err, text)
	}
	if !reflect.DeepEqual(p.DeepCopyObject(), p) {
		t.Error("a copy differs")
	}
}
