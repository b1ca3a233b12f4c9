package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

const magic = "berth journal 1\n"

// The types of records.
const (
	recordFrame   = 1
	recordRunning = 2
	// recordFleet names the fleet that the state is of. Files of before do not have it, and are taken.
	recordFleet = 3
)

const (
	headerSize = 9
	// maxRecord is above every frame.
	maxRecord = wire.MaxMessage + 1024
)

// errBroken ends the reading of a file: what came before counts.
var errBroken = errors.New("the rest of the file cannot be relied on")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b []byte, kind byte, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // Frames are at most 4 MiB.
	crc := crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
	b = binary.BigEndian.AppendUint32(b, crc)
	b = append(b, kind)
	return append(b, payload...)
}

// next reads one record. The error is io.EOF where the file ends behind the last.
func next(r io.Reader) (kind byte, payload []byte, err error) {
	var header [headerSize]byte
	n, err := io.ReadFull(r, header[:])
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return 0, nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, fmt.Errorf("%d bytes at the end are no record: %w", n, errBroken)
	case err != nil:
		return 0, nil, fmt.Errorf("%w (%w)", err, errBroken)
	}
	size := int(binary.BigEndian.Uint32(header[:]))
	if size > maxRecord {
		return 0, nil, fmt.Errorf("a record of %d bytes is not there whole: %w", size, errBroken)
	}
	kind, payload = header[8], make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("a record of %d bytes is not there whole: %w (%w)", size, err, errBroken)
	}
	if crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload) != binary.BigEndian.Uint32(header[4:]) {
		return 0, nil, fmt.Errorf("a record of %d bytes has another checksum: %w", size, errBroken)
	}
	return kind, payload, nil
}

// appendUpdate writes the update as records.
func appendUpdate(b []byte, u wire.Update) ([]byte, error) {
	u.ID = 0 // the count of one stream means nothing here
	frames, err := wire.Frames(u, 0)
	if err != nil {
		return b, fmt.Errorf("write update to %s and %s into the journal: %w", u.To.Revision.Version, u.To.Generation.Version, err)
	}
	for _, f := range frames {
		payload, err := proto.Marshal(f)
		if err != nil {
			return b, fmt.Errorf("write a frame into the journal: %w", err)
		}
		b = appendRecord(b, recordFrame, payload)
	}
	return b, nil
}

// errForeign ends the reading of a file that another fleet's node has written.
var errForeign = fmt.Errorf("it is another fleet's: %w", errBroken)

// whole writes a state as records: whose it is, the running revision first, then what leads from it to the held one.
func whole(s State, fleet string) ([]byte, error) {
	b := appendRecord([]byte(magic), recordFleet, []byte(fleet))
	first := s.Revision
	if s.Running != nil {
		first = s.Running
	}
	if first.Version.IsZero() && s.Generation.Version.IsZero() {
		return b, nil
	}
	u := wire.Everything(first, s.Generation)
	if first.Version.IsZero() {
		u = wire.Everything(nil, s.Generation)
	}
	if s.Generation.Version.IsZero() {
		u = wire.Everything(first, nil)
	}
	b, err := appendUpdate(b, u)
	if err != nil {
		return nil, err
	}
	if s.Running == nil {
		return b, nil
	}
	digest := s.Running.Digest()
	b = appendRecord(b, recordRunning, digest[:])
	if s.Revision.Digest() == s.Running.Digest() {
		return b, nil
	}
	return appendUpdate(b, wire.Update{
		Scope: fleetv1.Scope_SCOPE_CHANGES,
		From:  wire.MarksOf(s.Running, nil), To: wire.MarksOf(s.Revision, nil),
		Revision: snapshot.DiffRevisions(s.Running, s.Revision),
	})
}

// replay reads the records of a file. The state is that of the records before the first that cannot be relied on, and the error says which that was.
func replay(r io.Reader, fleet string) (State, error) {
	s := Empty()
	var begins [len(magic)]byte
	if _, err := io.ReadFull(r, begins[:]); err != nil || string(begins[:]) != magic {
		return s, fmt.Errorf("the file does not begin as a journal: %w", errBroken)
	}
	assembler := &wire.Assembler{}
	for {
		kind, payload, err := next(r)
		if errors.Is(err, io.EOF) && !errors.Is(err, errBroken) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		switch kind {
		case recordFleet:
			if string(payload) != fleet {
				return Empty(), fmt.Errorf("the file is of fleet %q, this node is of %q: %w", payload, fleet, errForeign)
			}
		case recordFrame:
			if s, err = s.frame(assembler, payload); err != nil {
				return s, err
			}
		case recordRunning:
			if digest, err := snapshot.DigestFromBytes(payload); err == nil && digest == s.Revision.Digest() {
				s.Running = s.Revision
			}
		}
	}
}

func (s State) frame(assembler *wire.Assembler, payload []byte) (State, error) {
	frame := &fleetv1.Update{}
	if err := proto.Unmarshal(payload, frame); err != nil {
		return s, fmt.Errorf("read a frame: %w (%w)", err, errBroken)
	}
	u, done, err := assembler.Add(frame)
	if err != nil {
		return s, fmt.Errorf("read a frame: %w (%w)", err, errBroken)
	}
	if !done {
		return s, nil
	}
	rev, gen, err := u.Apply(s.Revision, s.Generation)
	if err != nil {
		return s, fmt.Errorf("apply an update: %w (%w)", err, errBroken)
	}
	s.Revision, s.Generation = rev, gen
	return s, nil
}
