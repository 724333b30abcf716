package gotrace

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options of a [Reader]. The zero value is the default.
type Options struct {
	Limits Limits
	// MarkPrefix: user logs (trace.Log) whose category has this prefix are
	// reported as Marks, and their goroutines are followed. Empty: none.
	MarkPrefix string
	// Tasks: the begins and ends of user tasks are reported, and the goroutines
	// that begin one without a parent are followed.
	Tasks bool
	// Offset is added to every instant: from the time namespace of the traced process
	// to ours (time_namespaces(7)).
	Offset time.Duration
	// NoTracks leaves out the Tracks, and what they cost.
	NoTracks bool
	// Breathe, if it is not nil, is called often while there is work, so that
	// the caller can rest in between: a second of a busy trace is some
	// milliseconds of it in one piece.
	Breathe func()
}

// Reader decodes one stream. It is not safe for concurrent use.
type Reader struct {
	src     *source
	decoder decoder
	out     Generation
	pending *batchHeader // the first batch of the next generation (before Go 1.26)
	header  batchHeader
	err     error // sticky
}

// NewReader reads the header of the stream. A version that is not supported
// gives an error that wraps [ErrVersion] and names it.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	d := decoder{
		limits: o.Limits.withDefaults(), offset: stall.Instant(max(-maxInstant, min(o.Offset, maxInstant))), markPrefix: o.MarkPrefix, rest: o.Breathe,
		following: o.MarkPrefix != "", tasking: o.Tasks, tracking: (o.MarkPrefix != "" || o.Tasks) && !o.NoTracks,
		openAssists: make(map[uint64]openAssist), followed: make(map[uint64]followed),
		standIns: make(map[uint64]followed), standNext: make(map[uint64]followed), thinned: make(map[uint64]uint32),
		asked: make(map[uint64][]string), collects: make(map[uint64]bool),
	}
	d.names.limit = d.limits.Names
	s := &Reader{src: newSource(), decoder: d}
	if err := s.Reset(r); err != nil {
		return nil, err
	}
	return s, nil
}

// Reset begins a new stream with the options and the memory of the last one:
// a caller that traces in slices allocates once. It reads the header and returns what
// [NewReader] would. Nothing is known of the last stream any more, and no
// goroutine is followed.
func (r *Reader) Reset(stream io.Reader) error {
	r.src.reset(stream)
	r.pending = nil
	r.decoder.forget()
	version, err := readHeader(r.src)
	if err != nil {
		r.err = streamError(r.src.offset, err)
		return r.err
	}
	r.err = nil
	r.decoder.version, r.decoder.args = version, eventTable(version)
	return nil
}

// Next reads one generation. It blocks on the stream. At a clean end the error
// is io.EOF; otherwise it is an [*Error], and every further call repeats it.
// The Generation is valid until the next call.
func (r *Reader) Next() (*Generation, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.next(); err != nil {
		r.err = err
		return nil, err
	}
	return &r.out, nil
}

// Follow follows a goroutine before it leaves a mark: one that is known from an
// earlier stream of the same process. It is called between calls of Next.
func (r *Reader) Follow(goroutine uint64) { r.decoder.follow(goroutine) }

// Unfollow stops following a goroutine: its window has ended. A later mark of
// it starts anew. It is called between calls of Next.
func (r *Reader) Unfollow(goroutine uint64) { delete(r.decoder.followed, goroutine) }

// Offset returns the number of bytes that were decoded.
func (r *Reader) Offset() int64 { return r.src.offset }

// next decodes the batches of one generation.
func (r *Reader) next() error {
	h, err := r.nextHeader()
	if err == io.EOF {
		return io.EOF
	}
	if err != nil {
		return streamError(r.src.offset, err)
	}
	if err := r.begin(h); err != nil {
		return err
	}
	for {
		if err := r.batch(h); err != nil {
			return err
		}
		r.decoder.breathe()
		h, err = r.nextHeader()
		switch {
		case err == io.EOF && r.decoder.endsAtEOF(), err == nil && h.end:
			return r.finish()
		case err != nil:
			return streamError(r.src.offset, err)
		case h.generation != r.decoder.number:
			return r.endBefore(h)
		}
	}
}

// begin begins a generation, of which h is the first batch.
func (r *Reader) begin(h batchHeader) error {
	switch number := r.decoder.number; {
	case h.end:
		return streamError(r.src.offset-1, broken("end of a generation that did not begin"))
	case h.generation <= number:
		return streamError(r.src.offset, broken("generation %d after %d", h.generation, number))
	}
	r.decoder.begin(h.generation, &r.out)
	return nil
}

// endBefore ends the generation by the first batch of the next, as it was until
// Go 1.26.
func (r *Reader) endBefore(h batchHeader) error {
	number := r.decoder.number
	if r.decoder.version >= go126 || h.generation != number+1 {
		return streamError(r.src.offset, broken("batch of generation %d within %d", h.generation, number))
	}
	r.header, r.pending = h, &r.header
	return r.finish()
}

func (r *Reader) nextHeader() (batchHeader, error) {
	if r.pending != nil {
		h := *r.pending
		r.pending = nil
		return h, nil
	}
	return readBatchHeader(r.src, r.decoder.version)
}

func (r *Reader) finish() error {
	at, err := r.decoder.finish(&r.out)
	if err != nil {
		if at == 0 {
			at = r.src.offset
		}
		return streamError(at, err)
	}
	return nil
}

// batch decodes the data of one batch.
func (r *Reader) batch(h batchHeader) error {
	d := &r.decoder
	if d.bytes64 += int64(h.head + h.size); d.bytes64 > d.limits.GenerationBytes {
		return streamError(r.src.offset, overLimit("generation bytes", d.bytes64, d.limits.GenerationBytes))
	}
	data, err := r.src.sloppy(h.size)
	if err != nil {
		return streamError(r.src.offset, err)
	}
	if at, err := d.batch(h, data, r.src.offset); err != nil {
		return streamError(r.src.offset+int64(at), err)
	}
	r.src.skip(h.size)
	return nil
}

// streamError places an error of the stream. Within the stream an end is a
// truncation.
func streamError(offset int64, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, ErrVersion) {
		return err
	}
	return &Error{Offset: offset, Err: err}
}

// ErrVersion says that the trace is of a version that this package does not
// decode.
var ErrVersion = errors.New("trace version not supported")

// ErrFormat says that the bytes are not what the format allows.
var ErrFormat = errors.New("broken trace")

// ErrLimit says that the trace needs more than a limit allows.
var ErrLimit = errors.New("trace over limit")

// Error is an error of the stream and its place. Truncation is
// io.ErrUnexpectedEOF; an error of the underlying reader is passed through.
type Error struct {
	Offset int64 // bytes from the start of the stream
	Err    error
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	return fmt.Sprintf("decode go trace at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

func overLimit(what string, got, limit int64) error {
	return fmt.Errorf("%w: %s %d, at most %d", ErrLimit, what, got, limit)
}
