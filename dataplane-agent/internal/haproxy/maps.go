package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-proxy/berth/api/snapshot/render"
)

// MapEntry is one entry of a map.
type MapEntry struct{ Key, Value string }

// Map reads all entries of a map, by the name of its file.
func (r *Runtime) Map(ctx context.Context, file string) ([]MapEntry, error) {
	texts, err := r.ask(ctx, "show map "+file)
	if err != nil {
		return nil, err
	}
	return ParseMap(texts[0])
}

// ParseMap reads the answer to `show map FILE`: a pointer, the key and the value on each line.
func ParseMap(text string) ([]MapEntry, error) {
	var out []MapEntry
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		pointer, rest, ok := strings.Cut(line, " ")
		if !ok || !strings.HasPrefix(pointer, "0x") {
			return nil, fmt.Errorf("map: %.80q: %w", line, ErrRefused)
		}
		key, value, _ := strings.Cut(rest, " ")
		out = append(out, MapEntry{key, value})
	}
	return out, nil
}

// ParseMapEntry reads the answer to `get map FILE KEY`, and says whether the entry of exactly that key is there: a map that matches beginnings answers with
// a shorter key too.
func ParseMapEntry(text, key string) (value string, found bool) {
	if !strings.Contains(text, ", found=yes,") {
		return "", false
	}
	_, rest, ok := strings.Cut(text, `, key="`)
	if !ok || !strings.HasPrefix(rest, key+`"`) {
		return "", false
	}
	_, rest, ok = strings.Cut(rest[len(key):], `, value="`)
	if !ok {
		return "", false
	}
	value, _, ok = strings.Cut(rest, `"`)
	return value, ok
}

// ReplaceMap makes a map hold exactly these entries, in one step for requests.
func (r *Runtime) ReplaceMap(ctx context.Context, file string, entries []MapEntry) error {
	replies, err := r.Do(ctx, []string{"prepare map " + file})
	if err != nil {
		return err
	}
	if replies[0].Err != nil {
		return replies[0].Err
	}
	version, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(replies[0].Text), "New version created:")), 10, 32)
	if err != nil {
		return fmt.Errorf("prepare map %s: %.80q: %w", file, replies[0].Text, ErrMalformed)
	}
	at := "@" + strconv.FormatUint(version, 10) + " " + file
	lines := make([]string, 0, len(entries)+1)
	for _, e := range entries {
		lines = append(lines, "add map "+at+" "+render.Escape(e.Key)+" "+render.Escape(e.Value))
	}
	lines = append(lines, "commit map "+at)
	replies, err = r.Do(ctx, lines)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		if reply.Err != nil {
			return fmt.Errorf("%.80s: %w", lines[i], reply.Err)
		}
	}
	return nil
}
