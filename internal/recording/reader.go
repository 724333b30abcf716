package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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

// parse returns nil for a kind that is not known.
func parse(kind Kind, b []byte) (Record, error) {
	switch kind {
	case KindEnvironment:
		return decode[Environment](b)
	case KindTarget:
		return decode[Target](b)
	case KindGaps, KindBareGaps:
		return parseGaps(b, kind == KindBareGaps)
	case KindCollection:
		return parseCollection(b)
	case KindSuspension:
		return decode[Suspension](b)
	case KindStatus:
		return decode[Status](b)
	case KindDoctor:
		return decode[Doctor](b)
	case KindEnd:
		return decode[End](b)
	case KindProbe:
		return decode[Probe](b)
	case KindHost:
		return decode[Host](b)
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
