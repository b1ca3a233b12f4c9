package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// encoding is that of every message (CTL-4).
var encoding = protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}

// compact writes a message in one line. protojson varies its blanks on purpose, so they are taken out.
func compact(m proto.Message) (json.RawMessage, error) {
	text, err := encoding.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the answer as JSON: %w", err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("write the answer as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// printMessage prints a message for programs.
func (r *run) printMessage(m proto.Message) error {
	text, err := compact(m)
	if err != nil {
		return err
	}
	return r.printIndented(text)
}

func (r *run) printIndented(text json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	b.WriteByte('\n')
	return r.print(b.Bytes())
}
