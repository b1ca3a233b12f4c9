package rig

import (
	"bytes"
	"fmt"

	"github.com/berth-proxy/berth/tests/cluster/manifest"
)

// perFile is how many services stand in one file of Many, as documents.
const perFile = 500

// Many writes n services, each with a route and, if asked for, two endpoints that nobody is sent to: the host of service many-7 is many-7.example.com. They make a
// fleet large. The slice of many-0 has a file of its own, so that Put(ManySlice(0, …)) changes it.
func Many(dir manifest.Dir, n int, endpoints bool) error {
	var text bytes.Buffer
	for i := range n {
		name := fmt.Sprintf("many-%d", i)
		service := manifest.Service{
			Metadata: manifest.Meta{Namespace: Namespace, Name: name},
			Spec:     manifest.ServiceSpec{Ports: []manifest.ServicePort{{Port: 80, TargetPort: 8080}}},
		}
		objects := []manifest.Object{service, Route(name).Ingress()}
		if slice := ManySlice(i, 1, 2); endpoints && i > 0 {
			objects = append(objects, slice)
		} else if endpoints {
			if err := dir.Put(slice); err != nil {
				return fmt.Errorf("make a large fleet: %w", err)
			}
		}
		for _, o := range objects {
			doc, err := manifest.Encode(o)
			if err != nil {
				return fmt.Errorf("make a large fleet: %w", err)
			}
			text.WriteString("---\n")
			text.Write(doc)
		}
		if (i+1)%perFile == 0 || i == n-1 {
			if err := dir.Write(fmt.Sprintf("many-%d.yaml", i/perFile), text.Bytes()); err != nil {
				return fmt.Errorf("make a large fleet: %w", err)
			}
			text.Reset()
		}
	}
	return nil
}

// ManySlice is the slice of the i-th service of Many with a ready endpoint for each number, at an address that follows from both (see ManyAddress).
func ManySlice(i int, endpoints ...int) manifest.EndpointSlice {
	yes := true
	s := manifest.EndpointSlice{
		Metadata:    manifest.Meta{Namespace: Namespace, Name: fmt.Sprintf("many-%d", i), Labels: map[string]string{"kubernetes.io/service-name": fmt.Sprintf("many-%d", i)}},
		AddressType: "IPv4",
		Ports:       []manifest.EndpointPort{{Port: 8080, Protocol: "TCP"}},
	}
	for _, e := range endpoints {
		s.Endpoints = append(s.Endpoints, manifest.Endpoint{
			Addresses: []string{ManyAddress(i, e)}, Conditions: manifest.Conditions{Ready: &yes},
			TargetRef: &manifest.TargetRef{Kind: "Pod", Namespace: Namespace, Name: fmt.Sprintf("many-%d-%d", i, e)},
		})
	}
	return s
}

// ManyAddress is the address of an endpoint of Many, for up to 16,384 services; of endpoints above 2 only one service may have many. It is in 198.18.0.0/15, which is reserved for
// benchmarks (RFC 2544), and leads nowhere.
func ManyAddress(i, endpoint int) string {
	if endpoint <= 2 {
		return fmt.Sprintf("198.%d.%d.%d", 17+endpoint, i>>8, i&255)
	}
	return fmt.Sprintf("198.18.%d.%d", 64+endpoint>>8%128, endpoint&255)
}
