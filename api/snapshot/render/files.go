package render

import (
	"fmt"
	"sort"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot"
)

// Files renders the snapshot for the machine: ConfigFile, MapFile of each map and CertificateList, by their paths. A resource that cannot
// be written is an error that names it.
func Files(rev *snapshot.Revision, gen *snapshot.Generation, m Machine) (map[string][]byte, error) {
	files := map[string][]byte{}
	w := &writer{gen: gen, machine: m, b: make([]byte, 0, estimate(rev, gen))}
	if err := w.config(rev); err != nil {
		return nil, err
	}
	files[ConfigFile] = w.b
	for x := range snapshot.Of[*snapshot.Map](rev, snapshot.KindMap) {
		b, err := mapFile(rev, x)
		if err != nil {
			return nil, err
		}
		files[MapFile(x.Name)] = b
	}
	if m.DefaultCertificate != "" {
		b, err := certificateList(rev, m)
		if err != nil {
			return nil, err
		}
		files[CertificateList] = b
	}
	return files, nil
}

// estimate is about the size of the configuration, so that its buffer seldom grows.
func estimate(rev *snapshot.Revision, gen *snapshot.Generation) int {
	n := 4096 + 64*rev.Len()
	for t := range gen.All() {
		n += 256 + 80*len(t.Slots)
	}
	return n
}

// writer is one pass over a snapshot.
type writer struct {
	gen     *snapshot.Generation
	machine Machine
	b       []byte
	options []byte
}

func (w *writer) config(rev *snapshot.Revision) error {
	var global *snapshot.Section
	var defaults, others, frontends []*snapshot.Section
	for s := range snapshot.Of[*snapshot.Section](rev, snapshot.KindSection) {
		switch s.Type {
		case "global":
			global = s
		case "defaults":
			defaults = append(defaults, s)
		case "frontend":
			frontends = append(frontends, s)
		default:
			others = append(others, s)
		}
	}
	if global == nil {
		global = &snapshot.Section{Type: "global"}
	}
	if err := w.section(global, w.machine.Global); err != nil {
		return err
	}
	for _, list := range [][]*snapshot.Section{defaults, others} {
		for _, s := range list {
			if err := w.section(s, nil); err != nil {
				return err
			}
		}
	}
	for _, s := range frontends {
		name, _, _ := strings.Cut(s.Name, " ")
		if err := w.section(s, w.machine.Binds[name]); err != nil {
			return err
		}
	}
	for x := range snapshot.Of[*snapshot.Backend](rev, snapshot.KindBackend) {
		if err := w.backend(x); err != nil {
			return err
		}
	}
	for _, x := range w.machine.Backends {
		if rev.Backend(x.Name) != nil {
			return fmt.Errorf("render %s: the machine has a backend of its own of this name", x.Key())
		}
		if err := w.backend(x); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) section(s *snapshot.Section, machine []snapshot.Line) error {
	if err := snapshot.Check(s); err != nil {
		return fmt.Errorf("render %w", err)
	}
	w.begin()
	w.b = append(w.b, s.Type...)
	if s.Name != "" {
		for word := range strings.SplitSeq(s.Name, " ") {
			w.b = append(w.b, ' ')
			w.b = appendWord(w.b, word)
		}
	}
	w.b = append(w.b, '\n')
	for i, l := range machine {
		if err := snapshot.CheckLine(l); err != nil {
			return fmt.Errorf("render %s: line %d of the machine's own: %w", s.Key(), i+1, err)
		}
	}
	w.lines(machine)
	w.lines(s.Lines)
	return nil
}

func (w *writer) backend(x *snapshot.Backend) error {
	if err := snapshot.Check(x); err != nil {
		return fmt.Errorf("render %w", err)
	}
	w.begin()
	w.b = append(w.b, "backend "...)
	w.b = append(w.b, x.Name...)
	if x.Defaults != "" {
		w.b = append(w.b, " from "...)
		w.b = append(w.b, x.Defaults...)
	}
	w.b = append(w.b, '\n')
	w.lines(x.Lines)
	t := w.gen.Table(x.Name)
	if t == nil {
		return nil
	}
	w.options = w.options[:0]
	for _, o := range x.ServerOptions {
		w.options = append(w.options, ' ')
		w.options = appendWord(w.options, o)
	}
	for i, s := range t.Slots {
		if err := snapshot.CheckSlot(s); err != nil {
			return fmt.Errorf("render %s: slot %d: %w", x.Key(), i+1, err)
		}
		w.b = append(w.b, "    "...)
		w.b = appendServer(w.b, i, s, w.options)
		w.b = append(w.b, '\n')
	}
	return nil
}

// begin sets sections apart by an empty line.
func (w *writer) begin() {
	if len(w.b) > 0 {
		w.b = append(w.b, '\n')
	}
}

func (w *writer) lines(lines []snapshot.Line) {
	for _, l := range lines {
		w.b = append(w.b, "    "...)
		w.b = appendWords(w.b, l)
		w.b = append(w.b, '\n')
	}
}

func mapFile(rev *snapshot.Revision, x *snapshot.Map) ([]byte, error) {
	if err := snapshot.Check(x); err != nil {
		return nil, fmt.Errorf("render %w", err)
	}
	b := []byte{}
	for e := range rev.Entries(x.Name) {
		if err := snapshot.Check(e); err != nil {
			return nil, fmt.Errorf("render %w", err)
		}
		b = append(b, e.Name...)
		b = append(b, ' ')
		b = append(b, e.Value...)
		b = append(b, '\n')
	}
	return b, nil
}

// namesPerLine keeps a line of the list far below what HAProxy reads at once: 64 KiB and 2,048 words.
const namesPerLine = 128

// certificateList writes the list of certificates: the default, which HAProxy takes to be the first, then each with the names that it is
// shown to. A certificate without names is shown to nobody.
func certificateList(rev *snapshot.Revision, m Machine) ([]byte, error) {
	file := m.CertificateFile
	if file == nil {
		file = CertificateFile
	}
	b, err := appendPath(nil, m.DefaultCertificate)
	if err != nil {
		return nil, fmt.Errorf("render the default certificate: %w", err)
	}
	b = append(b, '\n')
	for x := range snapshot.Of[*snapshot.Certificate](rev, snapshot.KindCertificate) {
		if err := snapshot.Check(x); err != nil {
			return nil, fmt.Errorf("render %w", err)
		}
		names := append([]string(nil), x.ServerNames...)
		sort.Strings(names)
		for len(names) > 0 {
			n := min(len(names), namesPerLine)
			if b, err = appendPath(b, file(x)); err != nil {
				return nil, fmt.Errorf("render %s: %w", x.Key(), err)
			}
			for _, name := range names[:n] {
				b = append(b, ' ')
				b = append(b, name...)
			}
			b = append(b, '\n')
			names = names[n:]
		}
	}
	return b, nil
}

// appendPath writes a file's name into a list of certificates, which knows no quotes.
func appendPath(b []byte, path string) ([]byte, error) {
	if path == "" || path[0] == '#' || strings.ContainsAny(path, " \t\r\n\x00[]\\\"'") {
		return nil, fmt.Errorf("the file name %q cannot be written into a list of certificates", path)
	}
	return append(b, path...), nil
}
