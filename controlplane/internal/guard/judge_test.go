package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-proxy/berth/api/v1alpha1"
	"github.com/berth-proxy/berth/controlplane/internal/compile"
	"github.com/berth-proxy/berth/controlplane/internal/source"
	"github.com/berth-proxy/berth/controlplane/internal/store"
)

// row makes an object of source "home" from its words: "service NAME", "slice NAME SERVICE ADDRESS…", "ingress NAME SERVICE…", "secret NAME", "class NAME", "policy NAME", "fleet NAME".
func row(words string) source.Row {
	f := strings.Fields(words)
	meta := metav1.ObjectMeta{Name: f[1], Namespace: "shop"}
	switch f[0] {
	case "service":
		return source.NewRow("home", &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	case "slice":
		meta.Labels = map[string]string{discoveryv1.LabelServiceName: f[2]}
		slice := &discoveryv1.EndpointSlice{ObjectMeta: meta}
		for _, a := range f[3:] {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		return source.NewRow("home", slice)
	case "ingress":
		ing := &networkingv1.Ingress{ObjectMeta: meta}
		for _, service := range f[2:] {
			backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service}}
			http := &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", Backend: backend}}}
			ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: http}})
		}
		return source.NewRow("home", ing)
	case "secret":
		return source.NewRow("home", &corev1.Secret{ObjectMeta: meta})
	case "class":
		return source.NewRow("home", &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: f[1]}})
	case "policy":
		return source.NewRow("home", &v1alpha1.BackendPolicy{ObjectMeta: meta})
	case "fleet":
		return source.NewRow("home", &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: f[1]}})
	}
	panic("BUG: the test's own " + words)
}

func rows(words ...string) []source.Row {
	var list []source.Row
	for _, w := range words {
		list = append(list, row(w))
	}
	return list
}

func keys(words ...string) []source.Key {
	var list []source.Key
	for _, r := range rows(words...) {
		list = append(list, r.Key)
	}
	return list
}

// What of a step is a loss.
func TestLoss(t *testing.T) {
	for name, c := range map[string]struct {
		before, put, gone, held []string
		want                    string
	}{
		"nothing": {before: []string{"service a"}},
		"every kind": {
			before: []string{"service a", "slice a-1 a x", "ingress a a", "secret a", "class a", "policy a", "fleet a"},
			gone:   []string{"service a", "slice a-1 a", "ingress a", "secret a", "class a", "policy a", "fleet a"},
			want:   "Service shop/a, EndpointSlice shop/a-1, Ingress shop/a, Secret shop/a, IngressClass a, BackendPolicy shop/a, Fleet a",
		},
		"what was not there":             {gone: []string{"service a", "slice a-1 a", "ingress a"}},
		"a slice is replaced":            {before: []string{"slice a-1 a x"}, put: []string{"slice a-2 a y"}, gone: []string{"slice a-1 a"}},
		"a slice is replaced by none":    {before: []string{"slice a-1 a x"}, put: []string{"slice a-2 a"}, gone: []string{"slice a-1 a"}},
		"another slice takes over":       {before: []string{"slice a-1 a x", "slice a-2 a y"}, put: []string{"slice a-2 a x y"}, gone: []string{"slice a-1 a"}},
		"another slice is emptied":       {before: []string{"slice a-1 a x", "slice a-2 a y"}, put: []string{"slice a-2 a"}, gone: []string{"slice a-1 a"}},
		"another slice stays":            {before: []string{"slice a-1 a x", "slice a-2 a y"}, gone: []string{"slice a-1 a"}},
		"another slice stays, and empty": {before: []string{"slice a-1 a x", "slice a-2 a"}, gone: []string{"slice a-1 a"}, want: "EndpointSlice shop/a-1"},
		"another service's slice stays":  {before: []string{"slice a-1 a x", "slice b-1 b y"}, gone: []string{"slice a-1 a"}, want: "EndpointSlice shop/a-1"},
		"another service's slice is put": {before: []string{"slice a-1 a x"}, put: []string{"slice b-1 b y"}, gone: []string{"slice a-1 a"}, want: "EndpointSlice shop/a-1"},
		"both slices": {
			before: []string{"slice a-1 a x", "slice a-2 a y"}, gone: []string{"slice a-1 a", "slice a-2 a"}, want: "EndpointSlice shop/a-1, EndpointSlice shop/a-2",
		},
		"the other one is held": {before: []string{"slice a-1 a x", "slice a-2 a y"}, gone: []string{"slice a-1 a"}, held: []string{"slice a-2 a"}, want: "EndpointSlice shop/a-1"},
		"put and as it was":     {before: []string{"slice a-1 a x", "slice a-2 a"}, put: []string{"slice a-2 a"}, gone: []string{"slice a-1 a"}, want: "EndpointSlice shop/a-1"},
		"an Ingress is split":   {before: []string{"ingress all a b"}, put: []string{"ingress a a", "ingress b b"}, gone: []string{"ingress all"}},
		"not all of it":         {before: []string{"ingress all a b"}, put: []string{"ingress a a"}, gone: []string{"ingress all"}, want: "Ingress shop/all"},
		"it leads nowhere":      {before: []string{"ingress all"}, put: []string{"ingress a a"}, gone: []string{"ingress all"}, want: "Ingress shop/all"},
		"an Ingress as it was":  {before: []string{"ingress all a", "ingress a a"}, put: []string{"ingress a a"}, gone: []string{"ingress all"}, want: "Ingress shop/all"},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New("home")
			s.Deliver(source.Batch{Source: "home", Put: rows(c.before...)})
			held := map[source.Key]struct{}{}
			for _, k := range keys(c.held...) {
				held[k] = struct{}{}
			}
			var got []string
			for _, k := range newStep(s.Read(), rows(c.put...), keys(c.gone...), held).loss() {
				got = append(got, k.String())
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("lost is %q, want %q", strings.Join(got, ", "), c.want)
			}
			if _, kept := held[row("slice a-1 a").Key]; kept {
				t.Error("looking at a step has changed what is held")
			}
		})
	}
}

// GUARD-1: at least ten backends, and at least half of a fleet's.
func TestGUARD1TooFar(t *testing.T) {
	for _, c := range []struct {
		touched, of []int // of each fleet
		want        bool
	}{
		{nil, nil, false},
		{[]int{9}, []int{9}, false},
		{[]int{10}, []int{10}, true},
		{[]int{10}, []int{20}, true},
		{[]int{10}, []int{21}, false},
		{[]int{11}, []int{21}, true},
		{[]int{12}, []int{20}, true},
		{[]int{4999}, []int{10000}, false},
		{[]int{5000}, []int{10000}, true},
		{[]int{9, 9}, []int{9, 9}, false}, // of none of them ten
		{[]int{400, 10}, []int{1000, 12}, true},
	} {
		var reach []compile.Reach
		for i, n := range c.touched {
			reach = append(reach, compile.Reach{Fleet: fmt.Sprint(i), Backends: c.of[i], Touched: slices.Repeat([]string{"x"}, n)})
		}
		if got := tooFar(reach); got != c.want {
			t.Errorf("%v of %v backends: %v", c.touched, c.of, got)
		}
	}
}
