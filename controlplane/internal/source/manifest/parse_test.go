package manifest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"

// summary writes each document as a line: where, what, and what became of it.
func summary(docs []Document) string {
	var b strings.Builder
	for i := range docs {
		d := &docs[i]
		fmt.Fprintf(&b, "%s: %s", d.Place(), d.Key)
		switch {
		case d.Object != nil:
			b.WriteString(" ok")
		case d.Skipped != "":
			b.WriteString(" skipped " + d.Skipped)
		default:
			b.WriteString(" rejected")
		}
		if len(d.Warnings) > 0 {
			fmt.Fprintf(&b, " warned %d", len(d.Warnings))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// MAN-2 and MAN-3: what each file says, document by document.
func TestParse(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"one document", "a.yaml", service, "1: Service shop/web ok\n"},
		{"byte order mark", "a.yaml", "\ufeff" + service, "1: Service shop/web ok\n"},
		{"carriage returns", "a.yaml", strings.ReplaceAll(service+"---\n"+service, "\n", "\r\n"), "1: Service shop/web ok\n6: Service shop/web ok\n"},
		{"old Macs", "a.yaml", strings.ReplaceAll(service+"---\n"+service, "\n", "\r"), "1: Service shop/web ok\n6: Service shop/web ok\n"},
		{"markers around", "a.yml", "---\n# first\n" + service + "...\n---\n---\n# nothing\n---\n" + service + "---\n",
			"3: Service shop/web ok\n12: Service shop/web ok\n"},
		{"directive", "a.yaml", "%YAML 1.1\n# a comment\n---\n" + service, "4: Service shop/web ok\n"},
		{"content behind the marker", "a.yaml", service + "--- {apiVersion: v1, kind: Service, metadata: {name: b}, spec: {ports: [{port: 80}]}}\n",
			"1: Service shop/web ok\n5: Service default/b ok\n"},
		{"marker in a block scalar ends it", "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: |\n    ---\n    x\n---\n" + service,
			"1: Secret default/s ok\n9: Service shop/web ok\n"},
		{"comments only", "a.yaml", "# nothing yet\n", ""},
		{"null documents", "a.yaml", "null\n---\n~\n", ""},
		{"no namespace", "a.yaml", strings.ReplaceAll(service, ", namespace: shop", ""), "1: Service default/web ok\n"},
		{"not an object", "a.yaml", "- a\n---\njust text\n---\n" + service, "1:  rejected\n3:  rejected\n5: Service shop/web ok\n"},
		{"no kind", "a.yaml", "{}\n---\nkind: Service\n---\napiVersion: v1\nmetadata: {name: x}\n", "1:  rejected\n3:  rejected\n5:  rejected\n"},
		{"no name", "a.yaml", "apiVersion: v1\nkind: Service\nmetadata: 5\n", "1: Service default/ rejected\n"},
		{"generated name", "a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {generateName: x-}\nspec: {ports: [{port: 80}]}\n", "1: Service default/ rejected\n"},
		{"wrong type", "a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: many}\n---\n" + service,
			"1: Service default/x rejected\n6: Service shop/web ok\n"},
		{"not valid", "a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 0}]}\n", "1: Service default/x rejected\n"},
		{"unknown field", "a.yaml", service + "colour: red\n", "1: Service shop/web ok warned 1\n"},
		{"key twice", "a.yaml", strings.Replace(service, "kind: Service", "kind: Service\nkind: Service", 1), "1: Service shop/web ok warned 1\n"},
		{"other kind", "a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n", "1: Deployment d skipped apps/v1 Deployment\n"},
		{"other version", "a.yaml", "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: d}\n", "1: Ingress d skipped extensions/v1beta1 Ingress\n"},
		{"infinite", "a.yaml", "apiVersion: v1\nkind: Service\nx: .inf\n---\n" + service, "1:  rejected\n5: Service shop/web ok\n"},
		{"List", "a.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n- {apiVersion: v1, kind: Secret, metadata: {name: Wrong}}\n- 7\n- {kind: Secret}\n",
			"1, item 1: Secret default/s ok\n1, item 2: Secret default/Wrong rejected\n1, item 3:  rejected\n1, item 4:  rejected\n"},
		{"list of one kind", "a.yaml", "apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n",
			"1, item 1: Secret default/a ok\n1, item 2: Secret default/b ok\n"},
		{"empty List", "a.yaml", "apiVersion: v1\nkind: List\n", ""},
		{"items are no list", "a.yaml", "apiVersion: v1\nkind: List\nitems: {a: b}\n", "1:  rejected\n"},
		{"JSON", "a.json", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\n\"metadata\":{\"name\":\"a\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\"}}null 3",
			"1: Secret default/a ok\n4: Secret default/b ok\n4:  rejected\n"},
		{"JSON in YAML", "a.yaml", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\n\"metadata\":{\"name\":\"a\"}}", "1: Secret default/a ok\n"},
		{"policy", "a.yaml", "apiVersion: berth.dev/v1alpha1\nkind: BackendPolicy\nmetadata: {name: web}\nspec: {targetRefs: [{group: \"\", kind: Service, name: web}], affinity: {}, ballance: uri}\n",
			"1: BackendPolicy default/web ok warned 1\n"},
		{"cluster-scoped", "a.yaml", "apiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: edge, namespace: x}\n", "1: Fleet edge ok warned 1\n"},
		{"aliases", "a.yaml", "x: &p {port: 80}\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [*p]}\n", "1: Service default/a ok warned 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := Parse(tt.file, []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(docs); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// A file that cannot be read is an error that says where, in lines of the file.
func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, file, text string
		is               error
		says             string
	}{
		{"empty", "a.yaml", "", ErrEmpty, ""},
		{"only space", "a.yaml", "\ufeff \r\n\t\n", ErrEmpty, ""},
		{"empty JSON", "a.json", "\n", ErrEmpty, ""},
		{"too large", "a.yaml", "#" + strings.Repeat(" ", MaxFileSize), ErrTooLarge, ""},
		{"UTF-16", "a.yaml", "\xff\xfea\x00:\x00", ErrEncoding, ""},
		{"Latin-1", "a.json", "\"\xe9\"", ErrEncoding, ""},
		{"syntax in the second document", "a.yaml", service + "---\n# line 6\nmetadata: {name: web\nspec:\n", nil, "line 7"},
		{"zeros after a crash", "a.yaml", strings.Repeat("\x00", 64), nil, "control characters"},
		{"JSON syntax", "a.json", "{}\n\n{\"a\":", nil, "begins on line 3"},
		{"YAML is not JSON", "a.json", "a: b\n", nil, "line 1"},
		{"directive without a document", "a.yaml", "# x\n%YAML 1.1\n", nil, "document start"},
		{"percent in a document", "a.yaml", "---\n%x\n", nil, "line 2"},
		{"hidden document", "a.yaml", "a: b\u2028--- \u2028c: d\n", nil, "Unicode line separator"},
		{"bomb", "a.yaml", bomb(), nil, "aliasing"},
		{"large alias", "a.yaml", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 20) + "]\n", ErrExpansion, ""},
		{"too many", "a.yaml", strings.Repeat("---\na\n", MaxDocuments+1), ErrTooMany, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := Parse(tt.file, []byte(tt.text))
			if err == nil || docs != nil {
				t.Fatalf("got %d documents and %v, want an error", len(docs), err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, want %v %s", err, tt.is, tt.says)
			}
		})
	}
}

// bomb is ten to the power of eleven words.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 11; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	return b.String()
}

// MAN-1: what a file makes this process allocate is bounded by its size, for the shapes that cost most.
func TestCostFollowsSize(t *testing.T) {
	const size = 256 << 10
	slice := "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4\nendpoints:\n"
	shapes := map[string]string{
		"numbers":       "[" + strings.Repeat("0,", size/2) + "]",
		"sequence":      strings.Repeat("- a\n", size/4),
		"words":         strings.Repeat("a ", size/2),
		"documents":     strings.Repeat("---\na: 1\n", size/9),
		"deep":          strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"too deep":      strings.Repeat("{a: ", size/4),
		"questions":     strings.Repeat("? ", size/2),
		"aliases":       "a: &a x\nb: [" + strings.Repeat("*a,", size/3) + "]\n",
		"merges":        "a: &a {k: v}\nb:\n" + strings.Repeat("  <<: *a\n", size/9),
		"bad endpoints": slice + strings.Repeat("- {addresses: 1}\n", size/17),
		"bad addresses": slice + strings.Repeat("- {addresses: ['1'], a: b}\n", 900),
		"bomb":          bomb(),
	}
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("a.yaml", []byte(text))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 1200*size {
				t.Errorf("%d bytes of file made %d bytes of garbage (%v)", len(text), used, err)
			}
		})
	}
}

// MAN-4 and the loss of one entry: an endpoint that does not even decode takes no other with it.
func TestSliceKeepsSoundEntries(t *testing.T) {
	docs, err := Parse("a.yaml", []byte(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}, managedFields: [{manager: x}]}
addressType: IPv4
ports:
- {name: "", port: 8080}
- {name: admin, port: http}
endpoints:
- addresses: ["10.0.0.1"]
- addresses: 10.0.0.2
- addresses: ["10.0.0.3.4"]
- addresses: ["127.0.0.5"]
- 7
`))
	if err != nil || len(docs) != 1 || docs[0].Object == nil {
		t.Fatalf("got %s %v", summary(docs), err)
	}
	s := docs[0].Object.(*discoveryv1.EndpointSlice)
	var addresses []string
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	if !slices.Equal(addresses, []string{"10.0.0.1", "127.0.0.5"}) || len(s.Ports) != 1 || *s.Ports[0].Protocol != corev1.ProtocolTCP {
		t.Errorf("left: %v and ports %v", addresses, s.Ports)
	}
	if len(docs[0].Warnings) != 4 {
		t.Errorf("four entries are left out, but: %q", docs[0].Warnings)
	}
	if s.ManagedFields != nil || s.Kind != "" {
		t.Error("the slice is not trimmed")
	}
}

// The hosts of an Ingress that is rejected, whatever for, are known as far as they are valid.
func TestRejectedIngressClaimsItsHosts(t *testing.T) {
	for name, text := range map[string]string{
		"not valid": "spec: {rules: [{host: Pay.example.com, http: {paths: [{path: pay}]}}, {host: '*'}], tls: [{hosts: ['*.example.com', pay.example.com]}]}",
		"no decode": "spec: {defaultBackend: [], rules: [{host: 5}, {host: pay.example.com}], tls: [{hosts: ['*.example.com']}, 7]}",
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse("a.yaml", []byte("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: pay}\n"+text+"\n"))
			if err != nil || len(docs) != 1 || docs[0].Rejected == "" {
				t.Fatalf("got %s %v", summary(docs), err)
			}
			if want := []string{"*.example.com", "pay.example.com"}; !slices.Equal(docs[0].Hosts, want) {
				t.Errorf("claims %v, want %v (%s)", docs[0].Hosts, want, docs[0].Rejected)
			}
		})
	}
}

// The class of an Ingress that is rejected is known as far as it can be read.
func TestRejectedIngressNamesItsClass(t *testing.T) {
	const annotated = "annotations: {kubernetes.io/ingress.class: %s}"
	for name, c := range map[string]struct {
		metadata, spec, class string
		unknown               bool
	}{
		"named":                   {"", "ingressClassName: other", "other", false},
		"none":                    {"", "", "", false},
		"null":                    {"", "ingressClassName: null", "", false},
		"empty":                   {"", "ingressClassName: ''", "", false},
		"of another type":         {"", "ingressClassName: [other]", "", true},
		"annotated":               {fmt.Sprintf(annotated, "old"), "", "old", false},
		"annotated of a type":     {fmt.Sprintf(annotated, "5"), "", "", true},
		"both":                    {fmt.Sprintf(annotated, "old"), "ingressClassName: other", "other", false},
		"annotations are no list": {"annotations: [a]", "ingressClassName: other", "other", false},
	} {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: pay, " + c.metadata + "}\nspec: {defaultBackend: [], " + c.spec + "}\n"
			docs, err := Parse("a.yaml", []byte(text))
			if err != nil || len(docs) != 1 || docs[0].Rejected == "" {
				t.Fatalf("got %s %v", summary(docs), err)
			}
			if docs[0].Class != c.class || docs[0].AnyClass != c.unknown {
				t.Errorf("class %q, unknown %v", docs[0].Class, docs[0].AnyClass)
			}
		})
	}
}

func TestIsManifest(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a.yml": true, "x/a.json": true, ".a.yaml": false, "x/.yaml": false, "a.yaml~": false, "a.YAML": false, "a.txt": false, "yaml": false,
	} {
		if got := IsManifest(name); got != want {
			t.Errorf("IsManifest(%q) = %v", name, got)
		}
	}
}

// What people are told has an end.
func TestWordsAreBounded(t *testing.T) {
	docs, err := Parse("a.json", []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"`+strings.Repeat("x", 100_000)+`":1}`))
	if err != nil || len(docs) != 1 || len(docs[0].Warnings) != 1 || len(docs[0].Warnings[0]) > 2*maxText {
		t.Errorf("got %v %v", summary(docs), err)
	}
}

// FuzzParse holds MAN-1 to MAN-4 for any file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{service, service + "---\n" + service, "{}\n...\n--- x\n", "a: &a [x, x]\nb: [*a, *a]\n<<: {c: d}\n", "apiVersion: v1\nkind: List\nitems: [{}]\n",
		"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.1]}, 7]\nports: [{port: x}]\n",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: w, port: {number: 80}}}}]}}]}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: b}\ndata: {b: eA==}\n",
		"apiVersion: berth.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\nspec: {slots: {minimum: 0}}\n"} {
		f.Add(seed, false)
	}
	f.Add(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}} {"kind":1}`, true)
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "a.yaml"
		if isJSON {
			name = "a.json"
		}
		docs, err := Parse(name, []byte(text))
		if err != nil {
			if docs != nil {
				t.Error("an error beside documents")
			}
			return
		}
		for i := range docs {
			checkDocument(t, &docs[i])
		}
	})
}

func checkDocument(t *testing.T, d *Document) {
	t.Helper()
	said := 0
	for _, is := range []bool{d.Object != nil, d.Rejected != "", d.Skipped != ""} {
		if is {
			said++
		}
	}
	if said != 1 || d.Line < 1 {
		t.Errorf("a document is not exactly one of object, rejected, skipped: %+v", d)
	}
	if d.Object == nil {
		return
	}
	if want := source.NewRow("", d.Object).Key; d.Key != want || !d.Identified() {
		t.Errorf("the document is about %v, its object is %v", d.Key, want)
	}
	again := d.Object.DeepCopyObject().(source.Object)
	if warnings, err := admit(again); err != nil || len(warnings) > len(d.Warnings) {
		t.Errorf("an admitted object is not admitted again: %v %v", warnings, err)
	}
}
