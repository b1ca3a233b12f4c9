package desired

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// scene is a World of some services and secrets. The services web, api and old have port 80 named http; the secrets good and better hold certificates.
type scene struct{}

func (scene) Service(ref Ref) *corev1.Service {
	if !slices.Contains([]string{"web", "api", "old"}, ref.Name) {
		return nil
	}
	svc := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	if ref.Name == "old" {
		svc.Spec.Type = corev1.ServiceTypeExternalName
	}
	return svc
}

// names are those for which the scene's certificates are valid, the last also the secret narrow.
var names = []string{"*.example.com", "example.com", "X.example.com"}

func (scene) Certificate(ref Ref) (*Certificate, error) {
	switch ref.Name {
	case "good", "better":
		return &Certificate{NotBefore: yesterday, NotAfter: tomorrow, Names: names}, nil
	case "narrow":
		return &Certificate{NotBefore: yesterday, NotAfter: tomorrow, Names: names[2:]}, nil
	case "spoilt": // good once
		return &Certificate{NotBefore: yesterday, NotAfter: tomorrow, Names: names}, errors.New("holds no PEM certificate")
	case "expired":
		return &Certificate{NotBefore: yesterday.Add(-time.Hour), NotAfter: yesterday, Names: names}, nil
	case "early":
		return &Certificate{NotBefore: tomorrow, NotAfter: tomorrow.Add(time.Hour), Names: names}, nil
	case "broken":
		return nil, errors.New("holds no PEM certificate")
	default:
		return nil, errors.New("does not exist; create it")
	}
}

func (scene) Policies(Ref) []*Policy { return nil }

func claim(t *testing.T, name, text string) *Claims {
	t.Helper()
	obj := read[networkingv1.Ingress](t, text)
	ing := ParseIngress(obj, Ref{"a", "shop", name}, 0, nil)
	return Claim(ing, Fleet{Defaults: defaults(), Prefix: func(string) string { return "" }}, scene{})
}

// spellClaims writes what is claimed: for each host its paths and default, then certificates and redirects.
func spellClaims(c *Claims) string {
	var lines []string
	for _, host := range slices.Sorted(maps.Keys(c.Hosts)) {
		var parts []string
		for _, r := range c.Hosts[host].Paths {
			parts = append(parts, fmt.Sprintf("%s %s>%s", r.Match, r.Path, to(r.Backend)))
		}
		if d := c.Hosts[host].Default; d != nil {
			parts = append(parts, "else>"+to(*d))
		}
		lines = append(lines, fmt.Sprintf("[%s] %s", host, strings.Join(parts, ", ")))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Certificates)) {
		lines = append(lines, name+" shows "+c.Certificates[name].Name)
	}
	for _, host := range slices.Sorted(maps.Keys(c.Redirects)) {
		lines = append(lines, fmt.Sprintf("%s redirects %t", host, c.Redirects[host]))
	}
	if c.Fallback != nil {
		lines = append(lines, "fallback>"+to(*c.Fallback))
	}
	return strings.Join(lines, "\n")
}

func to(b Backend) string {
	if b.Closed() {
		return "503"
	}
	return b.Name
}

// ingressOf writes an Ingress: rules as "HOST PATH SERVICE", tls entries as "SECRET HOST…".
func ingressOf(rules, tls []string, fallback string) string {
	var b strings.Builder
	b.WriteString("spec:\n  ingressClassName: berth\n")
	if fallback != "" {
		fmt.Fprintf(&b, "  defaultBackend: {service: {name: %s, port: {number: 80}}}\n", fallback)
	}
	if len(tls) > 0 {
		b.WriteString("  tls:\n")
	}
	for _, entry := range tls {
		f := strings.Fields(entry)
		fmt.Fprintf(&b, "  - {secretName: %q, hosts: [", strings.Trim(f[0], "-"))
		for _, h := range f[1:] {
			fmt.Fprintf(&b, "%q, ", h)
		}
		b.WriteString("]}\n")
	}
	if len(rules) > 0 {
		b.WriteString("  rules:\n")
	}
	for _, rule := range rules {
		f := strings.Fields(rule)
		fmt.Fprintf(&b, "  - {host: %q", strings.Trim(f[0], "-"))
		if len(f) > 1 {
			fmt.Fprintf(&b, ", http: {paths: [{path: %q, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}", f[1], f[2])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestClaims(t *testing.T) {
	tests := []struct {
		rule       string
		rules, tls []string
		fallback   string
		want       []string
		notes      []string
	}{
		{rule: "a host with paths", rules: []string{"x.example.com /foo/ web", "X.example.com. / api"}, want: []string{"[x.example.com] Prefix /foo>shop_web_http, Prefix />shop_api_http"}},
		{rule: "the same path twice in one Ingress", rules: []string{"x.example.com /foo web", "x.example.com /foo/ api"}, want: []string{"[x.example.com] Prefix /foo>shop_web_http"}, notes: []string{"stands here twice; the first one counts"}},
		{rule: "a rule without paths claims its host", rules: []string{"x.example.com"}, want: []string{"[x.example.com] "}},
		{rule: "and its paths go to the default backend", rules: []string{"x.example.com"}, fallback: "web", want: []string{"[x.example.com] else>shop_web_http", "fallback>shop_web_http"}},
		{rule: "no host", rules: []string{"- / web"}, want: []string{"[] Prefix />shop_web_http"}},
		{rule: "a missing service answers 503", rules: []string{"x.example.com / cart"}, want: []string{"[x.example.com] Prefix />503"}, notes: []string{"warned: path \"/\" of host \"x.example.com\" names the service shop/cart, which does not exist; create it; it answers 503"}},
		{rule: "ExternalName answers 503", rules: []string{"x.example.com / old"}, want: []string{"[x.example.com] Prefix />503"}, notes: []string{"ExternalName"}},
		{rule: "a path with a blank is left out alone", rules: []string{"x.example.com /a\x01b web", "x.example.com /c web"}, want: []string{"[x.example.com] Prefix /c>shop_web_http"}, notes: []string{"warned: path", "white space"}},
		{rule: "a path that no request has", rules: []string{"x.example.com /ü#b web", "x.example.com /%C3%BC/%23 web"},
			want:  []string{"[x.example.com] Prefix /ü#b>shop_web_http, Prefix /%C3%BC/%23>shop_web_http"},
			notes: []string{`warned: path "/ü#b"`, "write it as %C3%BC"}},
		{rule: "a path with a query", rules: []string{"x.example.com /a?b web"}, want: []string{"[x.example.com] Prefix /a?b>shop_web_http"}, notes: []string{"write it as %3F"}},
		{rule: "a host that is none is left out alone", rules: []string{"x_*.example.com / web", "y.example.com / web"}, want: []string{"[y.example.com] Prefix />shop_web_http"}, notes: []string{"is not a DNS name"}},

		{rule: "tls", rules: []string{"x.example.com / web"}, tls: []string{"good x.example.com"}, want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com shows good", "x.example.com redirects true"}},
		{rule: "tls by a wildcard covers the host of a rule", rules: []string{"x.example.com / web", "example.com / web"}, tls: []string{"good *.example.com"},
			want: []string{"[example.com] Prefix />shop_web_http", "[x.example.com] Prefix />shop_web_http", "*.example.com shows good", "*.example.com redirects true", "x.example.com redirects true"}},
		{rule: "tls without hosts is for the hosts of the rules", rules: []string{"x.example.com / web", "- / web"}, tls: []string{"good"},
			want: []string{"[] Prefix />shop_web_http", "[x.example.com] Prefix />shop_web_http", "x.example.com shows good", "x.example.com redirects true"}},
		{rule: "a certificate that is not valid for a host is shown and warned about", rules: []string{"x.example.com / web", "y.example.com / web"}, tls: []string{"narrow x.example.com y.example.com *.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "[y.example.com] Prefix />shop_web_http", "*.example.com shows narrow", "x.example.com shows narrow", "y.example.com shows narrow",
				"*.example.com redirects true", "x.example.com redirects true", "y.example.com redirects true"},
			notes: []string{"warned: tls: the certificate of secret shop/narrow is not valid for y.example.com, *.example.com; it is shown all the same"}},
		{rule: "a certificate for other names altogether", rules: []string{"a.x.example.com / web"}, tls: []string{"good"},
			want:  []string{"[a.x.example.com] Prefix />shop_web_http", "a.x.example.com shows good", "a.x.example.com redirects true"},
			notes: []string{"warned: tls: the certificate of secret shop/good is not valid for a.x.example.com"}},
		{rule: "tls without a secret shows the default certificate", rules: []string{"x.example.com / web"}, tls: []string{"- x.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com redirects true"}, notes: []string{"warned: tls: the entry for x.example.com names no secret"}},
		{rule: "WANT-4: a broken certificate closes its hosts and no others", rules: []string{"x.example.com / web", "y.example.com / web"}, tls: []string{"broken x.example.com"},
			want: []string{"[x.example.com] Prefix />503, else>503", "[y.example.com] Prefix />shop_web_http"}, notes: []string{"rejected: tls: secret shop/broken holds no PEM certificate; until then x.example.com answers 503 on both ports"}},
		{rule: "WANT-4: a missing certificate too", rules: []string{"x.example.com / web"}, tls: []string{"nowhere x.example.com"},
			want: []string{"[x.example.com] Prefix />503, else>503"}, notes: []string{"rejected: tls: secret shop/nowhere does not exist"}},
		{rule: "a broken certificate claims hosts that no rule names", rules: []string{"- / web"}, tls: []string{"broken x.example.com"},
			want: []string{"[] Prefix />shop_web_http", "[x.example.com] else>503"}, notes: []string{"rejected"}},
		{rule: "a broken wildcard closes what it covers", rules: []string{"x.example.com / web"}, tls: []string{"broken *.example.com"},
			want: []string{"[*.example.com] else>503", "[x.example.com] Prefix />503, else>503"}, notes: []string{"rejected"}},
		{rule: "a broken certificate without hosts closes everything", rules: []string{"x.example.com / web", "- / web"}, tls: []string{"broken"}, fallback: "web",
			want: []string{"[] Prefix />503, else>503", "[x.example.com] Prefix />503, else>503", "fallback>503"}, notes: []string{"rejected"}},
		{rule: "closed wins over another entry", rules: []string{"x.example.com / web", "y.example.com / web"}, tls: []string{"good *.example.com", "broken x.example.com"},
			want:  []string{"[x.example.com] Prefix />503, else>503", "[y.example.com] Prefix />shop_web_http", "*.example.com shows good", "*.example.com redirects true", "y.example.com redirects true"},
			notes: []string{"rejected"}},
		{rule: "good once, the last accepted certificate stays", rules: []string{"x.example.com / web"}, tls: []string{"spoilt x.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com shows spoilt", "x.example.com redirects true"}, notes: []string{"warned: tls: secret shop/spoilt holds no PEM certificate; the last good certificate stays in force"}},
		{rule: "two entries for one name", rules: []string{"x.example.com / web"}, tls: []string{"good x.example.com", "better x.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com shows good", "x.example.com redirects true"}, notes: []string{"two entries name x.example.com"}},
		{rule: "expired is served", rules: []string{"x.example.com / web"}, tls: []string{"expired x.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com shows expired", "x.example.com redirects true"}, notes: []string{"warned: tls: the certificate of secret shop/expired expired at"}},
		{rule: "not yet valid is served", rules: []string{"x.example.com / web"}, tls: []string{"early x.example.com"},
			want: []string{"[x.example.com] Prefix />shop_web_http", "x.example.com shows early", "x.example.com redirects true"}, notes: []string{"is not valid before"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			c := claim(t, "i", ingressOf(tt.rules, tt.tls, tt.fallback))
			if got, want := spellClaims(c), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			holding := slices.DeleteFunc(c.Notes, func(n Note) bool { return !n.Holds(time.Now()) })
			if len(holding) != min(len(tt.notes), 1) {
				t.Errorf("notes: %s", reasons(holding))
			}
			holdsAll(t, "the notes", reasons(holding), tt.notes...)
		})
	}
}

// WANT-4: an Ingress that its source refused has its hosts claimed and closed, and nothing else.
func TestRefusedIngressIsClosed(t *testing.T) {
	ing := RefusedIngress(Ref{"a", "shop", "i"}, 0, []string{"x.example.com", "*.example.com", "X.example.com", "!"}, "", true)
	c := Claim(ing, Fleet{Defaults: defaults(), Prefix: func(string) string { return "" }}, scene{})
	if got, want := spellClaims(c), "[*.example.com] else>503\n[x.example.com] else>503"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBackendsAreNamedByServicePortAndSettings(t *testing.T) {
	text := strings.Replace(ingressOf([]string{"x.example.com / web"}, nil, ""), "spec:", "metadata: {annotations: {berth.dev/balance: uri}}\nspec:", 1)
	obj := read[networkingv1.Ingress](t, text)
	ing := ParseIngress(obj, Ref{"west", "shop", "i"}, 1, nil)
	c := Claim(ing, Fleet{Defaults: defaults(), Prefix: func(cluster string) string { return cluster + "." }}, scene{})
	b := c.Hosts["x.example.com"].Paths[0].Backend
	if want := "west.shop_web_http" + (Settings{Balance: URI}).Suffix(); b.Name != want || b.Reference() != "shop/web:http" {
		t.Errorf("%s of %s, want %s", b.Name, b.Reference(), want)
	}
}
