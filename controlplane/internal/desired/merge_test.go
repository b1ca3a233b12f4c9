package desired

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
)

func TestAge(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	ref := func(cluster, namespace, name string) Ref { return Ref{cluster, namespace, name} }
	// From the oldest to the youngest.
	order := []Age{
		{Created: early, Ref: ref("b", "z", "z"), Source: 1},
		{Created: late, Ref: ref("b", "a", "b"), Source: 1},
		{Created: late, Ref: ref("a", "b", "a"), Source: 0},
		{Created: late, Ref: ref("a", "b", "b"), Source: 0},
		{Created: late, Ref: ref("b", "b", "b"), Source: 1},
		{Ref: ref("a", "a", "a"), Source: 0}, // without a creation time: the youngest
		{Ref: ref("b", "a", "a"), Source: 1},
		{Ref: ref("c", "a", "a"), Source: 1},
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v against %v: %d", a, b, got)
			}
		}
	}
}

// aged makes the claims of an Ingress that was created at a second.
func aged(t *testing.T, name string, second int64, text string) *Claims {
	t.Helper()
	c := claim(t, name, text)
	c.Age.Created = time.Unix(second, 0)
	return c
}

func byRef(list ...*Claims) map[Ref]*Claims {
	m := map[Ref]*Claims{}
	for _, c := range list {
		m[c.Ref] = c
	}
	return m
}

func spellLosses(losses []Loss) string {
	var lines []string
	for _, l := range losses {
		lines = append(lines, l.Ingress.Name+" "+reasons([]Note{l.Note}))
	}
	return strings.Join(lines, "\n")
}

func spellRoutes(routes map[Place]Route) string {
	var list []string
	for _, r := range routes {
		list = append(list, fmt.Sprintf("%s %s>%s by %s", r.Match, r.Path, to(r.Backend), r.Ingress.Name))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestMergeHost(t *testing.T) {
	const host = "x.example.com"
	web, api := []string{host + " /a web"}, []string{host + " /a api", host + " /b api"}
	tests := []struct {
		rule   string
		claims []*Claims
		want   string
		losses string
	}{
		{"two Ingresses share a host, and the oldest has the path that both want",
			[]*Claims{aged(t, "young", 9, ingressOf(api, nil, "")), aged(t, "old", 1, ingressOf(web, nil, ""))},
			"Prefix /a>shop_web_http by old, Prefix /b>shop_api_http by young", "belongs to Ingress shop/old"},
		{"unmatched paths go to the default backend of the oldest that has one",
			[]*Claims{aged(t, "old", 1, ingressOf(web, nil, "")), aged(t, "mid", 5, ingressOf([]string{host}, nil, "api")), aged(t, "young", 9, ingressOf([]string{host}, nil, "web"))},
			"Default />shop_api_http by mid, Prefix /a>shop_web_http by old", ""},
		{"a closed Ingress keeps the paths that it claims, and takes none of an older one",
			[]*Claims{aged(t, "old", 1, ingressOf(web, nil, "")), aged(t, "bad", 5, ingressOf(api, []string{"broken " + host}, ""))},
			"Default />503 by bad, Prefix /a>shop_web_http by old, Prefix /b>503 by bad", "bad warned"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			routes, losses := MergeHost(host, byRef(tt.claims...))
			if got := spellRoutes(routes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if (len(losses) == 0) != (tt.losses == "") {
				t.Errorf("losses: %s", spellLosses(losses))
			}
			holdsAll(t, "the losses", spellLosses(losses), tt.losses)
		})
	}
}

func TestMergeCertificateAndRedirect(t *testing.T) {
	rules := []string{"x.example.com / web"}
	old := aged(t, "old", 1, ingressOf(rules, []string{"good x.example.com"}, ""))
	young := aged(t, "young", 9, ingressOf(rules, []string{"better x.example.com"}, ""))
	broken := aged(t, "broken", 0, ingressOf(rules, []string{"broken x.example.com"}, ""))
	young.Redirects = map[string]bool{"x.example.com": false}
	claims := byRef(old, young, broken)

	secret, losses := MergeCertificate("x.example.com", claims)
	if secret.Name != "good" {
		t.Errorf("shows %s, want the older one's", secret)
	}
	holdsAll(t, "the losses", spellLosses(losses), "young warned", "secret shop/good of Ingress shop/old, which is older")
	redirect, losses := MergeRedirect("x.example.com", claims)
	if !redirect {
		t.Error("the older one says that it redirects")
	}
	holdsAll(t, "the losses", spellLosses(losses), "young warned", "ssl-redirect")
}

func TestServes(t *testing.T) {
	spec := func(text string) *v1alpha1.FleetSpec {
		f := &v1alpha1.Fleet{Spec: *read[v1alpha1.FleetSpec](t, text)}
		f.Default()
		return &f.Spec
	}
	ours := Class{Controller: v1alpha1.ControllerName}
	mark := Class{Controller: v1alpha1.ControllerName, Default: true}
	theirs := Class{Controller: "example.com/other", Default: true}
	tests := []struct {
		rule    string
		spec    string
		classes map[string]Class
		class   *string
		old     string
		want    bool
	}{
		{"the fleet's class without an object", "", nil, ptr("berth"), "", true},
		{"with an object of ours", "", map[string]Class{"berth": ours}, ptr("berth"), "", true},
		{"with an object of another controller", "", map[string]Class{"berth": theirs}, ptr("berth"), "", false},
		{"another class", "", nil, ptr("nginx"), "", false},
		{"an object of ours that the fleet does not list", "", map[string]Class{"edge": mark}, ptr("edge"), "", false},
		{"the fleet lists others", "ingressClasses: [edge, inner]", nil, ptr("inner"), "", true},
		{"the old annotation counts", "", nil, nil, "berth", true},
		{"the field wins over the annotation", "", nil, ptr("nginx"), "berth", false},
		{"no class", "", map[string]Class{"berth": ours}, nil, "", false},
		{"no class, and a default class of ours", "", map[string]Class{"berth": mark}, nil, "", true},
		{"no class, and a default class of another", "", map[string]Class{"berth": theirs}, nil, "", false},
		{"no class, and a default class that the fleet does not list", "", map[string]Class{"edge": mark}, nil, "", false},
		{"no class, and the fleet takes such", "ingressWithoutClass: true", nil, nil, "", true},
		{"a namespace that is not included", "namespaces: {include: [pay, 's[a-g]op']}", nil, ptr("berth"), "", false},
		{"a namespace that is included by a glob", "namespaces: {include: [pay, 's?o*']}", nil, ptr("berth"), "", true},
		{"a namespace that is excluded", "namespaces: {exclude: ['sh*']}", nil, ptr("berth"), "", false},
	}
	for _, tt := range tests {
		obj := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		obj.Spec.IngressClassName = tt.class
		if tt.old != "" {
			obj.Annotations["kubernetes.io/ingress.class"] = tt.old
		}
		ing := ParseIngress(obj, Ref{"a", "shop", "i"}, 0, nil)
		if got := Serves(spec(tt.spec), tt.classes, ing); got != tt.want {
			t.Errorf("%s: %t", tt.rule, got)
		}
	}
	if notes := ClassNotes(spec(""), "berth", theirs); len(notes) != 1 {
		t.Errorf("a class of another controller that the fleet lists: %s", reasons(notes))
	}
	if notes := slices.Concat(ClassNotes(spec(""), "berth", ours), ClassNotes(spec(""), "nginx", theirs)); len(notes) > 0 {
		t.Errorf("classes that are none of our business: %s", reasons(notes))
	}
}

func ptr[T any](v T) *T { return &v }

// ImplementationSpecific is Prefix, and so is a path without a type.
func TestPathTypes(t *testing.T) {
	c := claim(t, "i", `
spec:
  rules:
  - host: x.example.com
    http:
      paths:
      - {path: /a, pathType: ImplementationSpecific, backend: {service: {name: web, port: {name: http}}}}
      - {pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /b, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /c/, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /d, pathType: Regex, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /e, pathType: Exact, backend: {resource: {kind: Bucket, name: x, apiGroup: x}}}`)
	want := "[x.example.com] Prefix /a>shop_web_http, Prefix />shop_web_http, Prefix /b>shop_web_http, Exact /c/>shop_web_http, Exact /e>503"
	if got := spellClaims(c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	holdsAll(t, "the notes", reasons(c.Notes), "unknown pathType", "names a resource")
	if !slices.Equal(c.Services, []Ref{{"a", "shop", "web"}}) || len(c.Certificates) > 0 {
		t.Errorf("depends on %v", c.Services)
	}
}
