package exact

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
)

const (
	// maxGenerationBytes bounds one generation of the trace in memory, about
	// a second of it; 300,000 events a second need 2 MB.
	maxGenerationBytes = 32 << 20
	// maxGenerations that may wait for the decoder, one being decoded apart.
	maxGenerations = 3
)

var traceMagic = []byte("go 1.")

// stream is the writer that the runtime gives the trace to. The runtime calls
// Write synchronously on the goroutine that empties its buffers, and a slow or
// panicking writer harms the program: so Write only copies, and drops a whole
// generation, counted, when the decoder is behind or a generation is too long.
//
// Since Go 1.26 each Write is one batch, and one of a single byte ends a
// generation.
type stream struct {
	clock stall.Clock
	since stall.Instant // before the tracer was started
	last  atomic.Int64  // Instant of the last Write

	mu      sync.Mutex
	header  []byte
	current []byte
	over    bool // the current generation is too long
	later   bool // there was a generation before the current one
	between bool // the last Write was the end of a generation
	closed  bool
	dropped uint64 // generations
	taps    []*tap

	ready chan []byte // the header, then whole generations
	free  chan []byte // their memory, to use again
}

// newFree makes a place for the memory of generations. Streams that follow one
// another share it: growing it anew each time is garbage that the program pays
// for with a collection.
func newFree() chan []byte { return make(chan []byte, maxGenerations+2) }

func newStreamIn(clock stall.Clock, free chan []byte) *stream {
	s := &stream{clock: clock, since: clock.Now(), ready: make(chan []byte, maxGenerations), free: free}
	s.last.Store(int64(s.since))
	s.renew()
	return s
}

// renew takes memory for the next generation, if there is any.
func (s *stream) renew() {
	select {
	case s.current = <-s.free:
		s.current = s.current[:0]
	default:
		s.current = nil
	}
}

// discard gives memory back for another generation.
func (s *stream) discard(b []byte) {
	if cap(b) == 0 {
		return
	}
	select {
	case s.free <- b[:0]:
	default:
	}
}

// Write never fails and never blocks for long.
func (s *stream) Write(p []byte) (int, error) {
	s.last.Store(int64(s.clock.Now()))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = len(p) == 1
	switch {
	case s.closed:
	case s.header == nil && bytes.HasPrefix(p, traceMagic):
		s.header = bytes.Clone(p)
		select {
		case s.ready <- bytes.Clone(p):
		default: // the header is the first, so there is room; but never block
		}
	case s.over:
	case len(s.current)+len(p) > maxGenerationBytes:
		s.over = true
	default:
		s.current = append(s.current, p...)
	}
	if s.between && !s.closed {
		s.publish()
	}
	return len(p), nil
}

// open reports whether the stream is in the midst of a generation: the runtime
// has not ended it.
func (s *stream) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.between
}

// begin returns the header of the trace, nil if nothing came at all.
func (s *stream) begin() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header
}

// publish hands over the current generation whole.
func (s *stream) publish() {
	s.later = true
	for _, t := range s.taps {
		switch {
		case t.skip:
			t.skip = false
		case !s.over:
			t.offer(s.header, s.current)
		}
	}
	if s.over {
		s.dropped++
		s.current, s.over = s.current[:0], false
		return
	}
	select {
	case s.ready <- s.current:
		s.renew()
	default:
		s.dropped++
		s.current = s.current[:0]
	}
}

// close ends the stream for its reader; later writes are ignored.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.ready)
	for _, t := range s.taps {
		t.close()
	}
	s.discard(s.current)
	s.taps, s.current = nil, nil
}

// lost returns how many generations were dropped since the last call.
func (s *stream) lost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dropped
	s.dropped = 0
	return n
}

// silence returns how long nothing was written.
func (s *stream) silence() time.Duration {
	return s.clock.Now().Sub(stall.Instant(s.last.Load()))
}

// streamReader is the decoder's side of a stream.
type streamReader struct {
	s     *stream
	buf   []byte // the rest of chunk
	chunk []byte
	pace  *pacer.Pacer // counts the work between two waits
}

// Read blocks until there is the header or a whole generation, and returns io.EOF when the
// stream is closed.
func (r *streamReader) Read(p []byte) (int, error) {
	for len(r.buf) == 0 {
		if r.chunk != nil {
			r.s.discard(r.chunk)
			r.chunk = nil
		}
		r.pace.End()
		chunk, ok := <-r.s.ready
		r.pace.Begin()
		if !ok {
			return 0, io.EOF
		}
		r.chunk, r.buf = chunk, chunk
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// take returns the generation that was read last, which is the caller's from now on. The
// decoder has read all of it: its end is the last byte of it.
func (r *streamReader) take() []byte {
	chunk := r.chunk
	r.chunk = nil
	return chunk
}

const (
	maxTapped = 4 // generations that may wait for the reader of a tap
	maxTaps   = 4 // of one stream: each may hold maxTapped generations
)

// tap gives a second reader whole generations of our stream: a trace file of
// its own. A reader that is too slow loses whole generations, counted.
type tap struct {
	out    chan []byte
	joined bool // within a generation, which is not for it
	skip   bool // the current generation
	begun  bool
	missed uint64
}

func newTap(joins bool) *tap {
	return &tap{out: make(chan []byte, maxTapped), joined: joins, skip: joins}
}

// offer is called with the stream's lock held and must not block.
func (t *tap) offer(header, generation []byte) {
	data := bytes.Clone(generation)
	if !t.begun {
		data = append(bytes.Clone(header), generation...)
	}
	select {
	case t.out <- data:
		t.begun = true
	default:
		t.missed++
	}
}

func (t *tap) close() { close(t.out) }

// tap returns a tap on the stream for a reader that is there since then, or false if the
// stream has ended or has too many. A generation that had begun by then lacks marks for
// the reader, so its tap begins with the one after it. The stream does not show when a
// generation began, but for the first.
func (s *stream) tap(since stall.Instant) (*tap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.taps) >= maxTaps {
		return nil, false
	}
	t := newTap(s.later || since > s.since)
	s.taps = append(s.taps, t)
	return t, true
}

// untap ends t and returns how many generations it missed. Its channel is closed
// if the stream had not done so.
func (s *stream) untap(t *tap) (missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.taps {
		if s.taps[i] == t {
			s.taps = append(s.taps[:i], s.taps[i+1:]...)
			t.close()
			break
		}
	}
	return t.missed
}
