package v1alpha1

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

func ptr[T any](v T) *T { return &v }

// API-4: the fleet that nobody wrote serves all namespaces and the class berth, with the values of INTERFACES.
func TestNewFleetServesEverything(t *testing.T) {
	f := NewFleet()
	want := FleetSpec{
		Namespaces:     NamespaceSelector{Include: []string{"*"}},
		IngressClasses: []string{"berth"},
		Slots:          SlotPolicy{Minimum: ptr(int32(4)), SurgePercent: ptr(int32(25))},
		Timeouts:       Timeouts{Connect: "500ms", Client: "60s", Server: "60s", HTTPKeepAlive: "5s", HardStopAfter: "10m"},
	}
	if f.Name != "default" || !reflect.DeepEqual(f.Spec, want) {
		t.Errorf("NewFleet() = %s %+v, want default %+v", f.Name, f.Spec, want)
	}
	if errs := f.Validate(); len(errs) != 0 {
		t.Errorf("the default fleet is not valid: %v", errs)
	}
}

// API-1: what was given stays, a wrong value included, and a second Default changes nothing.
func TestDefaultKeepsWhatWasGiven(t *testing.T) {
	f := &Fleet{Spec: FleetSpec{
		Namespaces:     NamespaceSelector{Include: []string{}, Exclude: []string{"kube-*"}},
		IngressClasses: []string{},
		Slots:          SlotPolicy{Minimum: ptr(int32(0)), SurgePercent: ptr(int32(0))},
		Timeouts:       Timeouts{Connect: "banana", Client: "1m"},
	}}
	f.Default()
	once := f.DeepCopy()
	f.Default()
	if !reflect.DeepEqual(once, f) {
		t.Errorf("a second Default changed the object: %+v then %+v", once.Spec, f.Spec)
	}
	s := f.Spec
	if len(s.Namespaces.Include) != 0 || len(s.IngressClasses) != 0 || *s.Slots.Minimum != 0 || *s.Slots.SurgePercent != 0 ||
		s.Timeouts.Connect != "banana" || s.Timeouts.Client != "1m" || s.Timeouts.Server != "60s" {
		t.Errorf("Default overwrote what was given: %+v", s)
	}
}

// API-2: each case breaks one field; the error names that field and no other, and Validate leaves the object alone.
func TestValidateNamesTheField(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Fleet)
		field  string // of the only error; "" when the object is valid
	}{
		{"as it is", func(*Fleet) {}, ""},
		{"name", func(f *Fleet) { f.Name = "Edge_1" }, "metadata.name"},
		{"no name", func(f *Fleet) { f.Name = "" }, "metadata.name"},
		{"include nothing", func(f *Fleet) { f.Spec.Namespaces.Include = []string{} }, "spec.namespaces.include"},
		{"glob", func(f *Fleet) { f.Spec.Namespaces.Exclude = []string{"ok", "shop-["} }, "spec.namespaces.exclude[1]"},
		{"glob that matches nothing", func(f *Fleet) { f.Spec.Namespaces.Include = []string{"Shop"} }, "spec.namespaces.include[0]"},
		{"empty glob", func(f *Fleet) { f.Spec.Namespaces.Include = []string{""} }, "spec.namespaces.include[0]"},
		{"no class", func(f *Fleet) { f.Spec.IngressClasses = []string{} }, "spec.ingressClasses"},
		{"only without class", func(f *Fleet) {
			f.Spec.IngressClasses, f.Spec.IngressWithoutClass = []string{}, true
		}, ""},
		{"class name", func(f *Fleet) { f.Spec.IngressClasses = []string{"Berth!"} }, "spec.ingressClasses[0]"},
		{"class twice", func(f *Fleet) { f.Spec.IngressClasses = []string{"a", "b", "a"} }, "spec.ingressClasses[2]"},
		{"no slots", func(f *Fleet) { f.Spec.Slots.Minimum = ptr(int32(0)) }, "spec.slots.minimum"},
		{"too many slots", func(f *Fleet) { f.Spec.Slots.Minimum = ptr(int32(MaxSlotsMinimum + 1)) }, "spec.slots.minimum"},
		{"surge", func(f *Fleet) { f.Spec.Slots.SurgePercent = ptr(int32(-1)) }, "spec.slots.surgePercent"},
		{"no surge", func(f *Fleet) { f.Spec.Slots.SurgePercent = ptr(int32(0)) }, ""},
		{"connect", func(f *Fleet) { f.Spec.Timeouts.Connect = "banana" }, "spec.timeouts.connect"},
		{"client", func(f *Fleet) { f.Spec.Timeouts.Client = "60" }, "spec.timeouts.client"},
		{"server", func(f *Fleet) { f.Spec.Timeouts.Server = "0s" }, "spec.timeouts.server"},
		{"keep-alive", func(f *Fleet) { f.Spec.Timeouts.HTTPKeepAlive = "5s\n  mode tcp" }, "spec.timeouts.httpKeepAlive"},
		{"a long keep-alive", func(f *Fleet) { f.Spec.Timeouts = Timeouts{HTTPKeepAlive: "1h"}; f.Default() }, ""},
		{"hard stop", func(f *Fleet) { f.Spec.Timeouts.HardStopAfter = "soon" }, "spec.timeouts.hardStopAfter"},
		{"a hard stop before the keep-alive", func(f *Fleet) { f.Spec.Timeouts.HardStopAfter = "4s" }, "spec.timeouts.hardStopAfter"},
		{"a hard stop with the keep-alive", func(f *Fleet) { f.Spec.Timeouts.HardStopAfter = "5000ms" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFleet()
			tt.change(f)
			before := f.DeepCopy()
			errs := f.Validate()
			if !reflect.DeepEqual(before, f) {
				t.Errorf("Validate changed the object")
			}
			switch {
			case tt.field == "" && len(errs) > 0:
				t.Errorf("got %v, want no error", errs)
			case tt.field != "" && (len(errs) != 1 || errs[0].Field != tt.field):
				t.Errorf("got %v, want one error at %s", errs, tt.field)
			}
		})
	}
}

func TestNamespaceSelector(t *testing.T) {
	s := NamespaceSelector{Include: []string{"shop-*", "pay"}, Exclude: []string{"*-test", "kube-?"}}
	for namespace, want := range map[string]bool{
		"shop-eu": true, "pay": true, "payments": false, "shop-test": false, "kube-1": false, "": false,
	} {
		if got := s.Matches(namespace); got != want {
			t.Errorf("Matches(%q) = %v, want %v", namespace, got, want)
		}
	}
	if (&NamespaceSelector{}).Matches("shop") {
		t.Error("a selector without globs matches")
	}
}

func TestDurationParse(t *testing.T) {
	tests := []struct {
		text Duration
		want time.Duration
		err  error
	}{
		{"500ms", 500 * time.Millisecond, nil},
		{"60s", time.Minute, nil},
		{"1m", time.Minute, nil},
		{"1000us", time.Millisecond, nil},
		{"2h", 2 * time.Hour, nil},
		{"24d", 24 * 24 * time.Hour, nil},
		{"2147483647ms", MaxDuration, nil},
		{"2147483648ms", 0, ErrDurationRange},
		{"25d", 0, ErrDurationRange},
		{"99999999999999999999s", 0, ErrDurationRange},
		{"999us", 0, ErrDurationRange},
		{"0s", 0, ErrDurationRange},
		{"", 0, ErrDurationSyntax},
		{"s", 0, ErrDurationSyntax},
		{"60", 0, ErrDurationSyntax},
		{"1.5s", 0, ErrDurationSyntax},
		{"-1s", 0, ErrDurationSyntax},
		{"+1s", 0, ErrDurationSyntax},
		{"1m30s", 0, ErrDurationSyntax},
		{"1 s", 0, ErrDurationSyntax},
		{"٣s", 0, ErrDurationSyntax},
		{"60S", 0, ErrDurationSyntax},
	}
	for _, tt := range tests {
		if got, err := tt.text.Parse(); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("Duration(%q).Parse() = %v, %v, want %v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// API-2 and API-3 for any text: what parses is digits and a unit that a configuration file can hold as one word.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"500ms", "60s", "24d", "", "1m30s", "9223372036854775807d", "5s\nmode tcp"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		length, err := Duration(text).Parse()
		if err != nil {
			return
		}
		if length < time.Millisecond || length > MaxDuration {
			t.Errorf("Duration(%q).Parse() = %v, out of HAProxy's range", text, length)
		}
		if strings.Trim(text, "0123456789usmhd") != "" {
			t.Errorf("Duration(%q) parses", text)
		}
	})
}

func TestSchemeKnowsFleet(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Fleet", "FleetList"} {
		if _, err := scheme.New(GroupVersion.WithKind(kind)); err != nil {
			t.Errorf("the scheme does not make a %s: %v", kind, err)
		}
	}
}
