package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Limits on one file.
const (
	// MaxFileSize is the largest file that is read, in bytes.
	MaxFileSize = 16 << 20
	// MaxDocuments is the largest number of documents, items of lists included.
	MaxDocuments = 100_000
)

// What makes a whole file unreadable, beside errors of syntax.
var (
	ErrEmpty     = errors.New("the file is empty; to take its objects away, remove the file or their documents")
	ErrTooLarge  = fmt.Errorf("the file is larger than %d MiB; split it", MaxFileSize>>20)
	ErrTooMany   = fmt.Errorf("the file has more than %d documents; split it", MaxDocuments)
	ErrEncoding  = errors.New("the file is not UTF-8; save it as UTF-8")
	ErrExpansion = errors.New("the aliases of the document stand for more text than a file may have; write it out or split it")
)

// Document is what one document of a file, or one item of a list in it, says. Exactly one of Object, Rejected and Skipped is set.
type Document struct {
	// Line is where the document begins, counted from 1; Item is its place in a list, counted from 1, or 0.
	Line, Item int

	// Key is the object that the document is about, without a cluster. Without a name nobody can tell; without a kind not even
	// that.
	Key source.Key

	// Object is trimmed and admitted.
	Object source.Object

	// Rejected says why there is no object.
	Rejected string

	// Skipped says that Berth does not read such objects, by apiVersion and kind.
	Skipped string

	// Warnings says what was left out of the object, or not understood.
	Warnings []string

	// Hosts are the valid host names of a rejected Ingress.
	Hosts []string
	// Class is the class that a rejected Ingress names, empty when it names none; AnyClass says that it cannot be read.
	Class    string
	AnyClass bool
}

// Identified says that the document tells which object it is about.
func (d *Document) Identified() bool { return d.Key.Kind != "" && d.Key.Name != "" }

// Place is where in the file the document stands, for people.
func (d *Document) Place() string {
	if d.Item > 0 {
		return fmt.Sprintf("%d, item %d", d.Line, d.Item)
	}
	return fmt.Sprint(d.Line)
}

// IsManifest says whether a file of this name is read.
func IsManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(filepath.Base(name), ".")
	}
	return false
}

// Parse reads a file; the name tells YAML from JSON. An error is about the file as a whole.
func Parse(name string, data []byte) ([]Document, error) {
	if len(data) > MaxFileSize {
		return nil, ErrTooLarge
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, ErrEmpty
	}
	if !utf8.Valid(data) {
		return nil, ErrEncoding
	}
	var p parser
	parse := p.yaml
	if filepath.Ext(name) == ".json" {
		parse = p.json
	}
	if err := parse(data); err != nil {
		return nil, err
	}
	return p.documents, nil
}

// parser gathers the documents of one file.
type parser struct {
	documents []Document
}

func (p *parser) yaml(data []byte) error {
	for chunk := range split(data) {
		tree, warnings, err := toJSON(chunk)
		if unconvertible := (conversionError{}); errors.As(err, &unconvertible) {
			if err := p.add(Document{Line: chunk.line, Rejected: clip(unconvertible.Error())}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := p.value(tree, Document{Line: chunk.line, Warnings: warnings}); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) json(data []byte) error {
	values := json.NewDecoder(bytes.NewReader(data))
	for {
		rest := bytes.TrimLeft(data[values.InputOffset():], " \t\r\n")
		line := 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
		var tree json.RawMessage
		err := values.Decode(&tree)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("in what begins on line %d: %w", line, err)
		}
		if err := p.value(tree, Document{Line: line}); err != nil {
			return err
		}
	}
}

// add is where every document goes through, for the limit.
func (p *parser) add(d Document) error {
	if len(p.documents) >= MaxDocuments {
		return ErrTooMany
	}
	p.documents = append(p.documents, d)
	return nil
}

// value takes a document or an item as JSON. What the document is about so far is in d.
func (p *parser) value(tree json.RawMessage, d Document) error {
	if string(bytes.TrimSpace(tree)) == "null" {
		return nil
	}
	head, err := readHead(tree)
	if err != nil {
		d.Rejected = clip(err.Error())
		return p.add(d)
	}
	if head.isList() {
		return p.list(head, d)
	}
	fill(&d, head, tree)
	return p.add(d)
}

// list takes each item for itself. An item of a list of one kind need not say its kind; a list in a list is nothing that anybody
// writes.
func (p *parser) list(list head, d Document) error {
	items, err := list.items()
	if err != nil {
		d.Rejected = clip(err.Error())
		return p.add(d)
	}
	for i, tree := range items {
		item := Document{Line: d.Line, Item: i + 1}
		if i == 0 {
			item.Warnings = d.Warnings
		}
		head, err := readHead(tree)
		switch {
		case err != nil:
			item.Rejected = clip(err.Error())
		default:
			head.inherit(list)
			fill(&item, head, tree)
		}
		if err := p.add(item); err != nil {
			return err
		}
	}
	return nil
}
