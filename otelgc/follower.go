package otelgc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
)

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
