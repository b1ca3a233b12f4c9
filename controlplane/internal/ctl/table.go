package ctl

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

// page is what a command prints for people.
type page struct{ bytes.Buffer }

// line adds a line of text.
func (p *page) line(format string, args ...any) {
	p.WriteString(printable(fmt.Sprintf(format, args...)))
	p.WriteByte('\n')
}

// gap sets what follows apart from what is there.
func (p *page) gap() {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
}

// table adds a table. Columns are separated by blanks; an empty cell is shown as "-", so that the columns can be counted.
func (p *page) table(header []string, rows [][]string) {
	w := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = printable(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) // a buffer takes everything
	}
	_ = w.Flush()
}

// printable is s in one line, without anything that would steer a terminal (CTL-5).
func printable(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r", ""))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}

// version is a mark's epoch and number; digest adds the start of the digest.
func version(m *adminv1.Mark) string {
	if m == nil || m.GetEpoch() == 0 && m.GetNumber() == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", m.GetEpoch(), m.GetNumber())
}

func digest(m *adminv1.Mark) string {
	d := m.GetDigest()
	return strings.TrimSpace(version(m) + " " + d[:min(len(d), 12)])
}

// word is an enum's name without the prefix that its values share, in lower case.
func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}

// slotRows are the rows of slots; addresses stand as HAProxy has them.
func slotRows(slots []*adminv1.Slot) [][]string {
	rows := make([][]string, len(slots))
	for i, s := range slots {
		address, weight, since := "", "", ""
		if s.GetState() != adminv1.SlotState_SLOT_STATE_FREE {
			address, weight = joinAddress(s.GetAddress(), s.GetPort()), fmt.Sprint(s.GetWeight())
		}
		if s.GetSince() != 0 {
			since = fmt.Sprint(s.GetSince())
		}
		rows[i] = []string{fmt.Sprint(s.GetSlot()), word(s.GetState(), "SLOT_STATE_"), address, weight, s.GetEndpoint(), since}
	}
	return rows
}

var slotHeader = []string{"SLOT", "STATE", "ADDRESS", "WEIGHT", "ENDPOINT", "SINCE"}

func joinAddress(host string, port uint32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d", host, port)
}
