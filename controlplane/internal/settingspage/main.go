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

Annotations on an Ingress, for all backends that it leads to. A value that cannot be read is warned about, and the default (after an edit: the last good
value) is used.

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
	b.WriteString("| `berth.dev/…` | value | when left out | what it does | what it costs |\n|---|---|---|---|---|\n")
	for _, s := range desired.AllSettings() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Annotation, s.Values, s.Default, s.Does, s.Costs)
	}
	b.WriteString(foot)
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
