package v1alpha1

// The defaults of a Fleet, as they stand in the documentation of its fields.
const (
	DefaultIngressClass  = "berth"
	DefaultSlotsMinimum  = int32(4)
	DefaultSurgePercent  = int32(25)
	DefaultConnect       = Duration("500ms")
	DefaultClient        = Duration("60s")
	DefaultServer        = Duration("60s")
	DefaultHTTPKeepAlive = Duration("5s")
	DefaultHardStopAfter = Duration("10m")
)

// Default fills in what was left out (API-1).
func (f *Fleet) Default() {
	spec := &f.Spec
	if spec.Namespaces.Include == nil {
		spec.Namespaces.Include = []string{"*"}
	}
	if spec.IngressClasses == nil {
		spec.IngressClasses = []string{DefaultIngressClass}
	}
	defaultInt(&spec.Slots.Minimum, DefaultSlotsMinimum)
	defaultInt(&spec.Slots.SurgePercent, DefaultSurgePercent)
	defaultDuration(&spec.Timeouts.Connect, DefaultConnect)
	defaultDuration(&spec.Timeouts.Client, DefaultClient)
	defaultDuration(&spec.Timeouts.Server, DefaultServer)
	defaultDuration(&spec.Timeouts.HTTPKeepAlive, DefaultHTTPKeepAlive)
	defaultDuration(&spec.Timeouts.HardStopAfter, spec.Timeouts.hardStopAfter())
}

// hardStopAfter is the default of HardStopAfter: longer than usual where idle connections are kept so long.
func (t *Timeouts) hardStopAfter() Duration {
	usual, err := DefaultHardStopAfter.Parse()
	if idle, idleErr := t.HTTPKeepAlive.Parse(); err == nil && idleErr == nil && idle > usual {
		return t.HTTPKeepAlive
	}
	return DefaultHardStopAfter
}

func defaultInt(p **int32, value int32) {
	if *p == nil {
		*p = &value
	}
}

func defaultDuration(d *Duration, value Duration) {
	if *d == "" {
		*d = value
	}
}
