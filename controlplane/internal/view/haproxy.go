package view

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/snapshot/render"
)

// settings are the defaults of berth-agent's flags.
var settings = render.Settings{StateDir: "/var/lib/berth", HTTPPort: 8080, HTTPSPort: 8443}

// HAProxy writes the configuration as a node with default settings does: haproxy.cfg, and behind it as comments the other files, each under a line
// "# file: PATH".
func HAProxy(rev *snapshot.Revision, gen *snapshot.Generation) ([]byte, error) {
	files, err := render.Files(rev, gen, render.NodeMachine(settings, settings.StateDir, rev))
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	b := bytes.NewBuffer(files[render.ConfigFile])
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == render.ConfigFile {
			continue
		}
		fmt.Fprintf(b, "\n# file: %s\n", name)
		for line := range bytes.Lines(files[name]) {
			b.WriteString("# ")
			b.Write(line)
		}
	}
	return b.Bytes(), nil
}
