package haproxy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// MapEntry is one entry of a map.
type MapEntry struct{ Key, Value string }

// Map reads all entries of a map, by the name of its file.
func (r *Runtime) Map(ctx context.Context, file string) ([]MapEntry, error) {
	texts, err := r.ask(ctx, "show map "+Word(file))
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
			if err := judge("show map", text); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("map: line %.80q: %w", line, ErrMalformed)
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
	if !ok {
		return "", false
	}
	// A value may hold quotes, so its end is the last that looks like one.
	rest, ok = strings.CutPrefix(rest, key+`", value="`)
	end := strings.LastIndex(rest, `", type="`)
	if !ok || end < 0 {
		return "", false
	}
	return rest[:end], true
}

// ReplaceMap makes a map hold exactly these entries, in one step for requests.
func (r *Runtime) ReplaceMap(ctx context.Context, file string, entries []MapEntry) error {
	replies, err := r.Do(ctx, []string{"prepare map " + Word(file)})
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
	at := "@" + strconv.FormatUint(version, 10) + " " + Word(file)
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = "add map " + at + " " + Word(e.Key) + " " + Word(e.Value)
	}
	// The new version counts only when every entry has been taken.
	for _, batch := range [][]string{lines, {"commit map " + at}} {
		replies, err = r.Do(ctx, batch)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if reply.Err != nil {
				return fmt.Errorf("%.80s: %w", batch[i], reply.Err)
			}
		}
	}
	return nil
}
