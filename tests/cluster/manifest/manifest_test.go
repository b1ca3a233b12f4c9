package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// MAN-1, MAN-2: one file an object, nothing temporary left, absent conditions stay absent.
func TestPutAndDelete(t *testing.T) {
	d := Dir(t.TempDir())
	no := false
	slice := EndpointSlice{
		Metadata:    Meta{Name: "web-1", Namespace: "shop", Labels: map[string]string{"kubernetes.io/service-name": "web"}},
		AddressType: "IPv4",
		Ports:       []EndpointPort{{Port: 8080}},
		Endpoints:   []Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: Conditions{Ready: &no}}},
	}
	fleet := Fleet{Metadata: Meta{Name: "edge"}, Spec: FleetSpec{Slots: &FleetSlots{Minimum: 8}}}
	if err := d.Put(slice, fleet, fleet); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"endpointslice_shop_web-1.yaml", "fleet_edge.yaml"}, names(t, d)); diff != "" {
		t.Error(diff)
	}
	got, err := os.ReadFile(filepath.Join(string(d), "endpointslice_shop_web-1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := `addressType: IPv4
apiVersion: discovery.k8s.io/v1
endpoints:
- addresses:
  - 10.0.0.1
  conditions:
    ready: false
kind: EndpointSlice
metadata:
  labels:
    kubernetes.io/service-name: web
  name: web-1
  namespace: shop
ports:
- name: ""
  port: 8080
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if err := d.Delete(slice.ID(), slice.ID()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fleet_edge.yaml"}, names(t, d)); diff != "" {
		t.Error(diff)
	}
}

func names(t *testing.T, d Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(string(d))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
