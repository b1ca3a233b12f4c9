package compile

import (
	"bytes"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/api/snapshot/render"
	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// P10, WANT-3: whatever stands in an Ingress, even in one that no API has validated, it adds no line to the configuration but those of the backend that it
// asks for, no word to an entry of a map, and nothing that cannot be rendered.
func FuzzObjectsAddNothing(f *testing.F) {
	for _, evil := range []string{
		"x.example.com", "*.x", "/a", "\n", "a\nserver s 10.0.0.1:1", "/a b", "/\u2028x", "# x", "/#", "\x00", "\xff", "5s\n  use_backend x", "http:/\" ' \\ $X ${X} %[src]", "-", "berth_unavailable", "/\t",
	} {
		f.Add(evil, evil, evil, evil)
		f.Add("x.example.com", evil, "check", "http:"+evil)
		f.Add(evil, "/", "timeout-server", evil)
		f.Add("x.example.com", "/", "affinity-cookie-name", evil)
	}
	f.Fuzz(func(t *testing.T, host, path, annotation, value string) {
		r := newRig(t)
		r.put("", service("web", "10.0.0.1")+ingress("good", "", "", "good.example.com / web"))
		class, exact := "berth", networkingv1.PathTypeExact
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
		evil := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "evil", Annotations: map[string]string{"berth.dev/" + annotation: value}},
			Spec: networkingv1.IngressSpec{
				IngressClassName: &class,
				TLS:              []networkingv1.IngressTLS{{Hosts: []string{host, value}, SecretName: path}},
				Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &exact, Backend: backend}, {Path: path, Backend: backend}}}}}},
			},
		}
		if annotation == "affinity-cookie-name" {
			evil.Annotations["berth.dev/affinity"] = "cookie"
		}
		policy := &v1alpha1.BackendPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "evil"}, Spec: v1alpha1.BackendPolicySpec{
			TargetRefs: []v1alpha1.PolicyTarget{{Kind: "Service", Name: "web"}, {Kind: value, Name: host, SectionName: &path}},
			Affinity:   &v1alpha1.Affinity{Cookie: &v1alpha1.AffinityCookie{Name: value}},
			Check:      &v1alpha1.HealthCheck{HTTP: &v1alpha1.HTTPCheck{Path: path}, Interval: v1alpha1.Duration(annotation)},
			Timeouts:   v1alpha1.BackendTimeouts{Server: v1alpha1.Duration(annotation)}, Balance: v1alpha1.Balance(annotation), Protocol: v1alpha1.Protocol(value),
		}}
		switch annotation { // one valid field at least, and another that is not
		case "check":
			policy.Spec.Check.Interval, policy.Spec.Balance, policy.Spec.Timeouts.Server, policy.Spec.Protocol, policy.Spec.Affinity = "", "", "", "", nil
		case "affinity-cookie-name":
			policy.Spec.Check, policy.Spec.Balance, policy.Spec.Timeouts.Server, policy.Spec.Protocol = nil, "", "", ""
		}
		r.apply(source.Batch{Source: "home", Put: []source.Row{source.NewRow("home", evil), source.NewRow("home", policy)}})
		k := r.kept["default"]
		files, err := render.Files(k.revision, k.generation, render.DefaultMachine(render.Settings{StateDir: "/state", HTTPPort: 1}))
		if err != nil {
			t.Fatalf("it cannot be rendered: %v", err)
		}
		if len(r.c.fleets["default"].refused) > 0 {
			t.Fatalf("refused late: %v", r.c.fleets["default"].refused)
		}
		for name, content := range files {
			for line := range bytes.Lines(content) {
				words := len(bytes.Fields(line))
				if strings.HasPrefix(name, render.MapFolder) && words != 2 {
					t.Fatalf("%s has the line %q", name, line)
				}
			}
		}
		sections, lines := bytes.Count(files[render.ConfigFile], []byte("\nbackend ")), bytes.Count(files[render.ConfigFile], []byte("\n"))
		// The one backend more, if any, has at most a dozen lines of its own and four servers, or as many as were asked for.
		own := r.c.Backends("default")
		for _, b := range own {
			lines -= len(k.generation.Table(b.Name).Slots)
		}
		if want := 1 + len(own); sections != want || lines > 52+len(own)*12 {
			t.Fatalf("%d backends and %d lines without servers, want %d:\n%s", sections, lines, want, files[render.ConfigFile])
		}
	})
}
