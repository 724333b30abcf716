package otelgc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
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
	born  stall.Instant // before the tracer was started
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
	s := &stream{clock: clock, born: clock.Now(), ready: make(chan []byte, maxGenerations), free: free}
	s.last.Store(int64(s.born))
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

// empty reports whether nothing came at all.
func (s *stream) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header == nil
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

// tap returns a tap on the stream for who reads since then, or false if the
// stream has ended or has too many. In a generation that had begun by then, not
// all is there that is marked for a reader: it has those that begin after it. When
// a generation but the first really began, nobody can tell from the stream.
func (s *stream) tap(since stall.Instant) (*tap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.taps) >= maxTaps {
		return nil, false
	}
	t := newTap(s.later || since > s.born)
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

// maxTransitions bounds what the decoder keeps of the states of goroutines, 24
// bytes each, in one generation. Over it, those go first that nobody follows.
const maxTransitions = 1 << 20

// follower decodes one slice as it streams.
type follower struct {
	x *exact
	s *stream

	gaveUp chan struct{} // closed when the decoder cannot go on
	done   chan struct{}

	events, generations, goroutines int64         // read after done
	decode                          time.Duration // read after done
	err                             error         // read after gaveUp or done
}

func newFollower(x *exact, s *stream) *follower {
	return &follower{x: x, s: s, gaveUp: make(chan struct{}), done: make(chan struct{})}
}

// run decodes until the stream is closed. An error, or a panic of the decoder,
// ends exact fidelity for the slice and nothing else.
func (f *follower) run() {
	defer close(f.done)
	if err := f.follow(); !errors.Is(err, io.EOF) {
		f.err = err
		f.x.reader = nil // whatever it holds is not to be trusted
		close(f.gaveUp)
		for range f.s.ready { // so that the writer's memory is bounded until the slice ends
		}
	}
}

func (f *follower) follow() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode trace: %v", r)
		}
	}()
	pace := &f.x.pace
	*pace = pacer.New(f.x.clock)
	reader, err := f.x.open(&streamReader{s: f.s, pace: pace})
	if err != nil {
		return f.ended(err)
	}
	for _, id := range f.x.learn.carriers() {
		reader.Follow(id)
	}
	for {
		g, err := reader.Next()
		if err != nil {
			return f.ended(err)
		}
		for _, id := range f.x.learn.learnGeneration(g, pace) {
			reader.Unfollow(id)
		}
		f.events += g.Events
		f.generations++
		f.goroutines += int64(g.Goroutines)
		f.decode = pace.Worked
	}
}

// open makes the decoder, or begins anew with the last one's memory.
func (x *exact) open(in io.Reader) (*gotrace.Reader, error) {
	if x.reader != nil {
		return x.reader, x.reader.Reset(in)
	}
	r, err := gotrace.NewReader(in, gotrace.Options{
		MarkPrefix: gotrace.WindowMarks,
		Breathe:    x.pace.Breathe,
		Limits:     x.limits,
	})
	x.reader = r
	return r, err
}

// ended returns io.EOF where the stream was closed before its header came: the
// decoder calls that a truncation.
func (f *follower) ended(err error) error {
	if f.generations == 0 && errors.Is(err, io.ErrUnexpectedEOF) && f.s.empty() {
		return io.EOF
	}
	return err
}

// addTo adds what was counted to the cost of the slice.
func (f *follower) addTo(c *sliceCost) {
	c.events, c.generations, c.goroutines, c.decode = f.events, f.generations, f.goroutines, f.decode
}

// failed reports whether the decoder gave up.
func (f *follower) failed() bool { return isClosed(f.gaveUp) }

// fatal returns the error if it will come again with every slice: the
// runtime's format is not known.
func (f *follower) fatal() error {
	if errors.Is(f.err, gotrace.ErrVersion) {
		return f.err
	}
	return nil
}

// carrier is who carries a window, as far as it is settled.
type carrier struct {
	goroutine uint64   // 0 if it is not known
	children  []child  // that have joined and not left
	overflow  overflow // those that do not count
}

// blank returns one that is not known, with the same memory.
func (by *carrier) blank() carrier {
	return carrier{children: by.children[:0], overflow: overflow{past: by.overflow.past[:0]}}
}

// follow adds the states of the goroutine that carried the window, and what the
// collector and the scheduler did to it: before the handler began too, for
// while the goroutine that is to serve the request waits for a P, so does the
// request. The window had slot during had; by is who carried it before.
func (b *traceStore) follow(e *stall.Evidence, w *stall.Window, slot int16, had stall.Span, by *carrier) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by.goroutine == 0 {
		had := stall.Span{Start: had.Start.Add(-b.error), End: had.End.Add(b.error)}
		if by.goroutine = b.goroutineOf(slot, had); by.goroutine == 0 {
			return
		}
	}
	s := w.Extent()
	for _, c := range b.live {
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		for t := c.track(by.goroutine, s); t.next(); {
			e.Track = appendState(e.Track, t.start, t.end, t.state.state)
			e.Own = appendOwn(e.Own, &t.state, t.span(), c.workers)
			if b.oneP && t.network {
				before := stall.Span{Start: s.Start, End: w.Start}
				e.Own = appendUnpolled(e.Own, t.span().Clip(before), c.workers)
			}
		}
		for _, r := range c.assistsOf(by.goroutine, s) {
			e.Own = append(e.Own, r.interval())
		}
		e.Own = c.appendSelfStops(e.Own, by.goroutine, s)
	}
	if n, ok := b.slots.LeftUnmarked(slot, had.Start); ok {
		by.overflow.quiet = n
	}
	b.followChildren(e, slot, stall.Span{Start: max(had.Start, w.Start), End: w.End}, by)
	slices.SortFunc(e.Own, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
}

// goroutineOf returns who carried the window that held slot during s, by its
// newest mark, or 0.
func (b *traceStore) goroutineOf(slot int16, s stall.Span) uint64 {
	for _, c := range slices.Backward(b.live) {
		if c.span.End < s.Start || c.span.Start > s.End {
			continue
		}
		if g, ok := c.marks.goroutineOf(slot, s); ok {
			return g
		}
	}
	return 0
}
