package recording

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/otelgc/otelgc/stall/gc"
)

// Error is an error of the file and its place. A file that ends without an End
// is io.ErrUnexpectedEOF.
type Error struct {
	Offset int64 // bytes from the start of the file: of the record at fault
	Err    error
}

// Error says what is wrong and where.
func (e *Error) Error() string { return fmt.Sprintf("read recording at byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reader reads a recording. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	buf     []byte
	offset  int64
	ended   bool
	unknown uint64
	err     error // sticky
}

// NewReader reads the first line of a recording.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReader(in)}
	first := make([]byte, len(Magic))
	n, err := io.ReadFull(r.in, first)
	family := Magic[:strings.LastIndexByte(Magic, ' ')+1]
	switch {
	case err == nil && string(first) == Magic:
		r.offset = int64(n)
		return r, nil
	case n >= len(family) && strings.HasPrefix(Magic, string(first[:n])):
		return nil, &Error{int64(n), fmt.Errorf("%w: it ends within its first line", io.ErrUnexpectedEOF)}
	case strings.HasPrefix(string(first[:n]), family):
		return nil, &Error{0, fmt.Errorf("%w: first line %q, want %q", ErrVersion, strings.TrimSpace(string(first[:n])), strings.TrimSpace(Magic))}
	case err == io.EOF || err == io.ErrUnexpectedEOF || err == nil:
		return nil, &Error{0, fmt.Errorf("%w: it does not begin with %q", ErrFormat, strings.TrimSpace(Magic))}
	}
	return nil, &Error{0, err}
}

// Next returns the next record. After an End the error is io.EOF; otherwise it
// is an [*Error], and every further call repeats it. Records of a kind that is
// not known are skipped.
func (r *Reader) Next() (Record, error) {
	for r.err == nil {
		record, err := r.next()
		if err != nil {
			r.err = err
			break
		}
		if record != nil {
			return record, nil
		}
		r.unknown++
	}
	return nil, r.err
}

func (r *Reader) next() (Record, error) {
	kind, body, err := readFrame(r.in, r.buf)
	r.buf = body
	switch {
	case err == io.EOF && r.ended:
		return nil, io.EOF
	case r.ended && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)): // nothing of the recording is cut off
		return nil, &Error{r.offset, fmt.Errorf("%w: there is more behind the end", ErrFormat)}
	case err == io.EOF:
		return nil, &Error{r.offset, io.ErrUnexpectedEOF}
	case err != nil:
		return nil, &Error{r.offset, err}
	}
	record, err := parse(kind, body[1:])
	if err == nil {
		err = check(record)
	}
	if err != nil {
		return nil, &Error{r.offset, err}
	}
	r.offset += frameHead + int64(len(body))
	if kind == KindEnd {
		r.ended = true
	}
	return record, nil
}

// Unknown returns how many records were skipped.
func (r *Reader) Unknown() uint64 { return r.unknown }

// parsers hold how a payload of each kind is read.
var parsers = map[Kind]func([]byte) (Record, error){
	KindEnvironment: decode[Environment],
	KindTarget:      decode[Target],
	KindCollection:  parseCollection,
	KindSuspension:  decode[Suspension],
	KindStatus:      decode[Status],
	KindDoctor:      decode[Doctor],
	KindEnd:         decode[End],
	KindProbe:       decode[Probe],
	KindGaps:        parseGaps,
	KindHost:        decode[Host],
}

// parse returns nil for a kind that is not known.
func parse(kind Kind, b []byte) (Record, error) {
	if p := parsers[kind]; p != nil {
		return p(b)
	}
	return nil, nil
}

func decode[T Record](b []byte) (Record, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return v, nil
}

func parseCollection(b []byte) (Record, error) {
	r, err := decode[Collection](b)
	if err != nil {
		return nil, err
	}
	c := r.(Collection)
	c.Trigger = cmp.Or(c.Trigger, gc.TriggerUnknown)
	for i := range c.Pauses {
		c.Pauses[i].EndMax = max(c.Pauses[i].End, c.Pauses[i].EndMax)
	}
	return c, nil
}

// frameHead is the length of a record's length and checksum.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a record.
func appendFrame(b []byte, kind Kind, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(1+len(payload)))
	sum := crc32.Update(crc32.Checksum([]byte{byte(kind)}, castagnoli), castagnoli, payload)
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(b, byte(kind))
	return append(b, payload...)
}

// readFrame reads a record into buf, which it returns grown. At a place where no
// record begins the error is io.EOF; within one it is io.ErrUnexpectedEOF, and so
// where all that is left are zeros: of the bytes that a machine did not get to
// its disk before it lost power the file may have the place alone.
func readFrame(r *bufio.Reader, buf []byte) (kind Kind, body []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, buf, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if head == [frameHead]byte{} && onlyZeros(r) {
		return 0, buf, io.ErrUnexpectedEOF
	}
	if n == 0 || n > MaxRecord {
		return 0, buf, fmt.Errorf("%w: record of %d bytes, want 1 to %d", ErrFormat, n, MaxRecord)
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, buf, err
	}
	if got, want := crc32.Checksum(buf, castagnoli), binary.LittleEndian.Uint32(head[4:]); got != want {
		if buf[n-1] == 0 && onlyZeros(r) {
			return 0, buf, io.ErrUnexpectedEOF
		}
		return 0, buf, fmt.Errorf("%w: checksum %08x, want %08x", ErrFormat, got, want)
	}
	return Kind(buf[0]), buf, nil
}

// onlyZeros reports whether the file ends with no other byte.
func onlyZeros(r *bufio.Reader) bool {
	for {
		switch b, err := r.ReadByte(); {
		case err != nil:
			return err == io.EOF
		case b != 0:
			return false
		}
	}
}
