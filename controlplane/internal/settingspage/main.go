// Command settingspage writes docs/settings.md, so that the page says what the code does. hack/generate.sh runs it.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/berth-proxy/berth/controlplane/internal/desired"
)

const head = `# Settings of a backend

<!-- Written by make generate from controlplane/internal/desired. Change it there. -->

By annotations on an Ingress, for all backends that it leads to; or by a BackendPolicy on a Service, for whoever routes to it. Where both say something, the policy wins, field
by field; a group (` + "`affinity`, `check`" + `) is taken as a whole, and an empty one switches it off.

An annotation that cannot be read is warned about, and the default (after an edit: the last good value) is used. A BackendPolicy with a faulty field is rejected, and its
last good form stays in force.

`

const foot = `
A service port has one backend for each set of settings that somebody asks for. So a changed setting is a new backend, which takes one reload (reason ` + "`backend`" + `)
and fails no request; what only repeats a default makes none.

Durations are a whole number and one of ` + "`us`, `ms`, `s`, `m`, `h`, `d`" + `, from 1ms to 24d, and reach HAProxy as they were written.

Of a port's ` + "`appProtocol`" + ` these count: ` + "`kubernetes.io/h2c`, `h2c`, `http2` and `grpc`" + ` as ` + "`h2c`; `https` and `kubernetes.io/wss`" + ` as ` + "`https`; `kubernetes.io/ws`" + ` (and
wss) as a WebSocket. Any other name is ` + "`http`" + `.
`

func main() {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| annotation `berth.dev/…` | BackendPolicy `spec.…` | value | when nobody says | what it does | what it costs |\n|---|---|---|---|---|---|\n")
	for _, s := range desired.AllSettings() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", s.Annotation, fields(s.Field), s.Values, s.Default, s.Does, s.Costs)
	}
	b.WriteString(foot)
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fields writes the names of fields, of which there may be none.
func fields(names string) string {
	if names == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(names, ", ", "`, `") + "`"
}
