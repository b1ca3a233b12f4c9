package desired

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/controlplane/internal/slots"
)

// spell writes an endpoint set as "STATE address name", one after the other.
func spell(set []slots.Endpoint) string {
	var list []string
	for _, e := range set {
		if e.Weight != snapshot.DefaultWeight {
			return fmt.Sprintf("weight %d of %s", e.Weight, e.Name)
		}
		list = append(list, fmt.Sprintf("%s %s:%d %s", e.State, e.Address, e.Port, e.Name))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Each rule of KUBERNETES.md about EndpointSlices. A slice is "FAMILY; PORT…; ENDPOINT…": a port is name/number/protocol, an endpoint its address, its
// conditions as letters (R r ready true false, S s serving, T t terminating, none left out) and its pod.
func TestEndpoints(t *testing.T) {
	tests := []struct {
		rule    string
		service string // spec, as YAML
		port    Port
		slices  []string
		want    string
	}{
		{rule: "several slices of one service add up", slices: []string{"4;/8080;10.0.0.1 R a", "4;/8080;10.0.0.2 R b"},
			want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.2:8080 shop/b"},
		{rule: "an address in two slices counts once and ready wins over gone", slices: []string{"4;/8080;10.0.0.1 R a;10.0.0.2 R b", "4;/8080;10.0.0.2 rs b"},
			want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.2:8080 shop/b"},
		{rule: "ready wins over draining", slices: []string{"4;/8080;10.0.0.1 rST a", "4;/8080;10.0.0.1 R a"}, want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "draining wins over gone", slices: []string{"4;/8080;10.0.0.1 rsT a;10.0.0.2 R b", "4;/8080;10.0.0.1 rST a"},
			want: "drain 10.0.0.1:8080 shop/a, ready 10.0.0.2:8080 shop/b"},
		{rule: "the address of free slots is no pod's", slices: []string{"4;/1;192.0.2.1 R a;10.0.0.1 R b"}, want: "ready 10.0.0.1:1 shop/b"},
		{rule: "the number belongs to the endpoint", port: Port{Name: "http", Number: 80}, slices: []string{"4;http/8080;10.0.0.1 R a", "4;http/9090;10.0.0.2 R b"},
			want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.2:9090 shop/b"},
		{rule: "ports match by name and not by number", port: Port{Name: "http", Number: 80}, slices: []string{"4;admin/80,http/8080;10.0.0.1 R a"},
			want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "a port that the slice does not have", port: Port{Name: "http", Number: 80}, slices: []string{"4;admin/8080;10.0.0.1 R a"}, want: ""},
		{rule: "a UDP port of the same name is no port", port: Port{Name: "dns", Number: 53}, slices: []string{"4;dns/5454/UDP;10.0.0.1 R a", "4;dns/5353/TCP;10.0.0.2 R b"},
			want: "ready 10.0.0.2:5353 shop/b"},
		{rule: "conditions left out", slices: []string{"4;/8080;10.0.0.1  a;10.0.0.2 r b;10.0.0.3 R c;10.0.0.4 rT d;10.0.0.5 T e"},
			want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.3:8080 shop/c, ready 10.0.0.5:8080 shop/e"},
		{rule: "ready decides beside terminating (publishNotReadyAddresses)", service: "publishNotReadyAddresses: true",
			slices: []string{"4;/8080;10.0.0.1 RST a;10.0.0.2 RSt b"}, want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.2:8080 shop/b"},
		{rule: "serving and terminating drains", slices: []string{"4;/8080;10.0.0.1 rST a;10.0.0.2 RSt b;10.0.0.3 rsT c"},
			want: "drain 10.0.0.1:8080 shop/a, ready 10.0.0.2:8080 shop/b"},
		{rule: "draining ones take the traffic when no ready one is left", slices: []string{"4;/8080;10.0.0.1 rST a;10.0.0.2 rst b"}, want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "serving without terminating is not ready", slices: []string{"4;/8080;10.0.0.1 rSt a;10.0.0.2 R b"}, want: "ready 10.0.0.2:8080 shop/b"},
		{rule: "dual stack counts in the first family", service: "ipFamilies: [IPv4, IPv6]", slices: []string{"6;/8080;fd00::1 R a", "4;/8080;10.0.0.1 R a"},
			want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "dual stack with IPv6 first", service: "ipFamilies: [IPv6, IPv4]", slices: []string{"4;/8080;10.0.0.1 R a", "6;/8080;fd00::1 R a"},
			want: "ready fd00::1:8080 shop/a"},
		{rule: "families not set: IPv4 where there are IPv4 slices", slices: []string{"6;/8080;fd00::1 R a", "4;/8080;10.0.0.1 R a"}, want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "families not set: else IPv6", slices: []string{"6;/8080;fd00::1 R a"}, want: "ready fd00::1:8080 shop/a"},
		{rule: "without targetRef the name is address and port", slices: []string{"4;/8080;192.168.7.4 R", "4;/8080;192.168.7.5"},
			want: "ready 192.168.7.4:8080 192.168.7.4:8080, ready 192.168.7.5:8080 192.168.7.5:8080"},
		{rule: "without targetRef, IPv6", slices: []string{"6;/8080;fd00::1 R"}, want: "ready fd00::1:8080 [fd00::1]:8080"},
		{rule: "a pod's name that no pod can have is not taken", slices: []string{
			"4;/8080;10.0.0.1 R " + strings.Repeat("x", 2000) + ";10.0.0.2 R a\x1b[2J;10.0.0.3 R \xff;10.0.0.4 R a\u2028b;10.0.0.5 R " + strings.Repeat("x", 253)},
			want: "ready 10.0.0.1:8080 10.0.0.1:8080, ready 10.0.0.2:8080 10.0.0.2:8080, ready 10.0.0.3:8080 10.0.0.3:8080, ready 10.0.0.4:8080 10.0.0.4:8080, " +
				"ready 10.0.0.5:8080 shop/" + strings.Repeat("x", 253)},
		{rule: "FQDN slices count for nothing", slices: []string{"F;/8080;web.example.com R", "4;/8080;10.0.0.1 R a"}, want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "a headless service is one like others", service: "clusterIP: None", slices: []string{"4;/8080;10.0.0.1 R a"}, want: "ready 10.0.0.1:8080 shop/a"},
		{rule: "slices left over from before ExternalName are ignored", service: "{type: ExternalName, externalName: x.example.com}", slices: []string{"4;/8080;10.0.0.1 R a"}, want: ""},
		{rule: "an address that is none is left out alone", slices: []string{"4;/8080;banana R a;10.0.0.2 R b;fd00::1 R c;0.0.0.0 R d;224.0.0.1 R e"}, want: "ready 10.0.0.2:8080 shop/b"},
		{rule: "an IPv4 address in IPv6's clothes is left out", slices: []string{"6;/8080;::ffff:10.0.0.1 R a;fd00::2 R b;fe80::1%eth0 R c"}, want: "ready fd00::2:8080 shop/b"},
		{rule: "scaled to zero", slices: []string{"4;/8080"}, want: ""},
		{rule: "the same pod on two numbers is two endpoints", slices: []string{"4;/8080;10.0.0.1 R a", "4;/8081;10.0.0.1 R a"},
			want: "ready 10.0.0.1:8080 shop/a, ready 10.0.0.1:8081 shop/a"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			svc := &corev1.Service{Spec: *read[corev1.ServiceSpec](t, tt.service)}
			var all []*discoveryv1.EndpointSlice
			for _, s := range tt.slices {
				all = append(all, parseSlice(t, s))
			}
			if tt.port == (Port{}) {
				tt.port.Number = 80
			}
			got := Endpoints(svc, tt.port, all)
			if spell(got) != tt.want {
				t.Errorf("got  %s\nwant %s", spell(got), tt.want)
			}
			// WANT-2: whatever the order.
			for range 5 {
				rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				for _, s := range all {
					rand.Shuffle(len(s.Endpoints), func(i, j int) { s.Endpoints[i], s.Endpoints[j] = s.Endpoints[j], s.Endpoints[i] })
				}
				if again := Endpoints(svc, tt.port, all); !slices.Equal(again, got) {
					t.Fatalf("another order gives %s", spell(again))
				}
			}
		})
	}
}

func parseSlice(t *testing.T, text string) *discoveryv1.EndpointSlice {
	t.Helper()
	parts := strings.Split(text, ";")
	families := map[string]discoveryv1.AddressType{"4": discoveryv1.AddressTypeIPv4, "6": discoveryv1.AddressTypeIPv6, "F": discoveryv1.AddressTypeFQDN}
	s := &discoveryv1.EndpointSlice{AddressType: families[parts[0]]}
	s.Namespace = "shop"
	for p := range strings.SplitSeq(parts[1], ",") {
		fields := strings.Split(p, "/")
		var number int32
		if _, err := fmt.Sscan(fields[1], &number); err != nil {
			t.Fatal(err)
		}
		port := discoveryv1.EndpointPort{Name: &fields[0], Port: &number}
		if len(fields) > 2 {
			protocol := corev1.Protocol(fields[2])
			port.Protocol = &protocol
		}
		s.Ports = append(s.Ports, port)
	}
	for _, text := range parts[2:] {
		fields := append(strings.Split(text, " "), "", "")
		e := discoveryv1.Endpoint{Addresses: []string{fields[0]}}
		for _, c := range fields[1] {
			yes := c < 'a'
			switch strings.ToUpper(string(c)) {
			case "R":
				e.Conditions.Ready = &yes
			case "S":
				e.Conditions.Serving = &yes
			case "T":
				e.Conditions.Terminating = &yes
			}
		}
		if fields[2] != "" {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: fields[2]}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// WANT-1: what counts for nothing is said.
func TestSliceNotes(t *testing.T) {
	tests := []struct{ slice, want string }{
		{"4;/8080;10.0.0.1 R a", ""},
		{"F;/8080;web.example.com R", "FQDN"},
		{"4;/8080;10.0.0.1 R a;banana R b", `"banana"`},
		{"4;/8080;10.0.0.1 R a;192.0.2.1 R b", "free slots"},
	}
	for _, tt := range tests {
		got := reasons(SliceNotes(parseSlice(t, tt.slice)))
		if (got == "") != (tt.want == "") {
			t.Errorf("%s: %q", tt.slice, got)
		}
		holdsAll(t, tt.slice, got, tt.want)
	}
}

func TestFindPort(t *testing.T) {
	web := read[corev1.Service](t, `
spec:
  ports:
  - {name: http, port: 80, targetPort: 8080}
  - {name: dns-udp, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
  - {name: syslog, port: 514, protocol: UDP}`)
	single := read[corev1.Service](t, `{spec: {ports: [{port: 80}]}}`)
	outside := read[corev1.Service](t, `{spec: {type: ExternalName, externalName: x.example.com, ports: [{port: 80}]}}`)
	tests := []struct {
		rule string
		svc  *corev1.Service
		to   Target
		want string
	}{
		{"by name", web, Target{Service: "web", Port: "http"}, "http"},
		{"by number, the same port", web, Target{Service: "web", Number: 80}, "http"},
		{"without a name its number", single, Target{Service: "web", Number: 80}, "80"},
		{"a number with UDP beside TCP", web, Target{Service: "web", Number: 53}, "dns-tcp"},
		{"a UDP port", web, Target{Service: "web", Port: "dns-udp"}, "not TCP"},
		{"a UDP port by number", web, Target{Service: "web", Number: 514}, "not TCP"},
		{"a port that is not there", web, Target{Service: "web", Port: "https"}, "does not have"},
		{"the target port is not the port", web, Target{Service: "web", Number: 8080}, "does not have"},
		{"no service", nil, Target{Service: "web", Number: 80}, "does not exist; create it"},
		{"ExternalName", outside, Target{Service: "web", Number: 80}, "ExternalName"},
		{"a resource", web, Target{Fault: "names a resource"}, "names a resource"},
	}
	for _, tt := range tests {
		port, err := FindPort(tt.svc, Ref{"a", "shop", "web"}, tt.to)
		got := port.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tt.want {
			t.Errorf("%s: %s, want %s", tt.rule, got, tt.want)
		}
		holdsAll(t, tt.rule, got, tt.want)
	}
}
