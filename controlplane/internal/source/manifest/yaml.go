package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// conversionError is about a document that is YAML and cannot be JSON, such as one with an infinite number.
type conversionError struct{ error }

// toJSON converts one document as kubectl does. A key that stands twice is a warning, and the last one counts, as there.
func toJSON(c chunk) (tree json.RawMessage, warnings []string, err error) {
	if err := checkAliases(c); err != nil {
		return nil, nil, err
	}
	if err := checkBreaks(c); err != nil {
		return nil, nil, err
	}
	tree, strictErr := yaml.YAMLToJSONStrict(c.text)
	if strictErr == nil {
		return tree, nil, nil
	}
	tree, err = yaml.YAMLToJSON(c.text)
	if err != nil {
		return nil, nil, explain(c, err)
	}
	if twice := (*yamlv2.TypeError)(nil); errors.As(yamlv2.UnmarshalStrict(c.placed(), new(any)), &twice) {
		warnings = capped(twice.Errors)
	}
	return tree, warnings, nil
}

// placed is the text with as many empty lines before it that the lines of errors are those of the file. Only errors pay for it.
func (c chunk) placed() []byte {
	return append(bytes.Repeat([]byte("\n"), c.start-1), c.text...)
}

func explain(c chunk, err error) error {
	if syntax := yamlv2.Unmarshal(c.placed(), new(any)); syntax != nil {
		return errors.New(strings.TrimPrefix(syntax.Error(), "yaml: "))
	}
	return conversionError{fmt.Errorf("the document from line %d: %w", c.line, err)}
}

// checkBreaks makes sure that a document is one. YAML takes some Unicode characters for line breaks too, and behind one of them
// the parser would see the end of the document, and drop the rest in silence.
func checkBreaks(c chunk) error {
	if !bytes.ContainsAny(c.text, "\u0085\u2028\u2029") {
		return nil
	}
	documents := yamlv2.NewDecoder(bytes.NewReader(c.placed()))
	for n := 0; ; n++ {
		switch err := documents.Decode(new(any)); {
		case errors.Is(err, io.EOF) && n <= 1:
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil // the parser proper says it better
		case n >= 1:
			return fmt.Errorf("the document from line %d: a document marker follows a Unicode line separator; write line feeds", c.line)
		}
	}
}

// checkAliases refuses a document whose aliases stand for more text than a file may have. The parser itself bounds how many
// nodes aliases make, but one alias can stand for a megabyte.
func checkAliases(c chunk) error {
	if bytes.IndexByte(c.text, '&') < 0 || bytes.IndexByte(c.text, '*') < 0 {
		return nil
	}
	var tree any
	if err := yamlv2.Unmarshal(c.text, &tree); err == nil && deduct(MaxFileSize, tree) < 0 {
		return fmt.Errorf("the document from line %d: %w", c.line, ErrExpansion)
	}
	return nil // a document that does not parse is for the parser proper to explain
}

// deduct takes the text of a tree from what is left, and stops when nothing is.
func deduct(left int, tree any) int {
	left--
	switch t := tree.(type) {
	case string:
		left -= len(t)
	case []any:
		for i := 0; i < len(t) && left >= 0; i++ {
			left = deduct(left, t[i])
		}
	case map[any]any:
		for key, value := range t {
			if left < 0 {
				break
			}
			left = deduct(deduct(left, key), value)
		}
	}
	return left
}
