package dotnet

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// events is the [source.Source] of one .NET process: what its runtime says of stops
// and collections, in one session after the other until the process ends. The Ref of
// an interval is the runtime's own count of collections.
//
// Next returns an error where a session fails, and then begins another after a delay
// that doubles. What lies between two sessions is unseen.
type events struct {
	id      dotnetipc.Identity
	clock   stall.Clock
	connect func(context.Context) (*dotnetipc.Client, error)
	gone    func(failure error) bool // whether the process has ended, after a failure
	resume  bool                     // it may wait for us at its start
	sampled bool                     // a sample of the allocations is asked for
	group   string                   // with whom it shares the budget
	budget  *budget

	ctx    context.Context // done when the source is closed
	cancel context.CancelFunc

	// Of the caller of Next:
	view    *view         // of the session that is on, nil for none
	broke   error         // why the last one ended, until Next has returned it
	last    error         // the same, kept
	tried   stall.Instant // when it began
	delay   time.Duration // before the next one
	again   time.Time     // when it begins
	cover   coverage
	waiting waiting
	threads int  // of which the reader of the events keeps what they allocated
	over    bool // Next has nothing more to say
	batch   source.Batch
	seen    observations
}

var _ source.Source = (*events)(nil)

// observations are what .NET says beside a batch.
type observations struct {
	began       *began                         // a session that began, nil if none did
	stops       []dotnetgc.Stop                // of the intervals of the batch
	modes       []gc.Maybe[dotnetgc.PauseMode] // of the collections of the batch
	allocations []dotnetgc.Allocation
	lost        uint64 // events, by the runtime
	givenUp     uint64 // records of the model over a limit
	forgotten   uint64 // threads over a limit, of which losses are not seen
}

// began is a session that began.
type began struct {
	info    dotnetipc.ProcessInfo
	version int // of CollectTracing
}

// failure is why a session ended, and when the next one begins.
type failure struct {
	error
	again time.Duration
}

func (f *failure) Unwrap() error { return f.error }

func newEvents(clock stall.Clock, id dotnetipc.Identity) *events {
	e := &events{id: id, clock: clock, delay: firstDelay}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Close ends the session in good order, while Next reads what is left of it.
func (e *events) Close() error {
	e.cancel()
	return nil
}

// Next returns what became known: at once what is in the stream, and otherwise at
// least once a second how far it was seen. The error is io.EOF when the process has
// ended or the source was closed, and a *failure when a session has failed.
func (e *events) Next(ctx context.Context) (source.Batch, error) {
	e.reset()
	switch {
	case e.over:
		return e.batch, io.EOF
	case ctx.Err() != nil:
		return e.batch, ctx.Err()
	case e.view != nil:
		e.look()
	case e.broke != nil:
		if err := e.retry(ctx); err != nil {
			return e.batch, err
		}
	case e.rest(ctx):
		e.broke = e.session(ctx)
	}
	return e.known(), nil
}

// reset prepares for the next batch.
func (e *events) reset() {
	e.batch = source.Batch{Intervals: e.batch.Intervals[:0], Collections: e.batch.Collections[:0]}
	e.seen = observations{stops: e.seen.stops[:0], modes: e.seen.modes[:0]}
}

// look reads the session that is on, and ends it where it is over.
func (e *events) look() {
	v := e.view
	if e.broke = v.read(); e.broke == nil {
		return
	}
	v.finish()
	e.view = nil
	e.cover.detach()
}

// known returns the batch, with how far the process was seen.
func (e *events) known() source.Batch {
	var mark stall.Instant
	mark, e.batch.Unseen = e.cover.status(e.clock.Now())
	e.batch.Watermark = e.waiting.bound(mark)
	e.batch.Lost.Count = e.seen.lost + e.seen.givenUp
	return e.batch
}

// retry returns why the session has ended, and plans the next one. It returns nil if
// there is no next one: the process is gone, or the source was closed.
func (e *events) retry(ctx context.Context) error {
	e.last, e.broke = e.broke, nil
	greedy := errors.Is(e.last, errDetached)
	if !greedy && (e.ctx.Err() != nil || e.ended(ctx)) {
		e.over = true
		return nil
	}
	if e.clock.Now().Sub(e.tried) > lastDelay && !greedy {
		e.delay = firstDelay
	}
	f := &failure{e.last, e.delay}
	e.again = time.Now().Add(e.delay)
	e.delay = min(2*e.delay, lastDelay)
	return f
}

// ended reports whether the process is gone. Its stream breaks off a moment before it
// is: that is no failure.
func (e *events) ended(ctx context.Context) bool {
	for end := e.clock.Now().Add(endsIn); !e.gone(e.last); {
		broke := errors.Is(e.last, errStreamEnded) || errors.Is(e.last, io.ErrUnexpectedEOF)
		if !broke || ctx.Err() != nil || e.ctx.Err() != nil || e.clock.Now() > end {
			return false
		}
		time.Sleep(endsIn / 50)
	}
	return true
}

// rest waits for the time of the next session, for a second at most, and reports
// whether it has come.
func (e *events) rest(ctx context.Context) bool {
	left := time.Until(e.again)
	timer := time.NewTimer(max(0, min(left, statusEvery)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	case <-e.ctx.Done():
	}
	if e.ctx.Err() != nil {
		e.over = true
		return false
	}
	return left <= statusEvery || e.gone(e.last)
}

// coverage keeps what was seen of a process and what was not.
type coverage struct {
	first    stall.Instant // when the first session began
	mark     stall.Instant // all before it was seen, or is named as unseen
	watching bool
	untold   []stall.Span
	unseen   time.Duration // since first
}

// attach begins to watch. Nothing before now was seen since the process was
// made, or since the last session ended.
func (c *coverage) attach(made, now stall.Instant) {
	if c.first == 0 {
		c.first = now
		c.tell(stall.Span{Start: min(made, now), End: now})
	} else {
		c.miss(stall.Span{Start: c.mark, End: now})
	}
	c.mark, c.watching = max(c.mark, now), true
}

// saw says that all before to was seen.
func (c *coverage) saw(to stall.Instant) {
	if c.watching {
		c.mark = max(c.mark, to)
	}
}

// detach ends to watch: what follows the mark is unseen.
func (c *coverage) detach() { c.watching = false }

// miss names a span that was not seen.
func (c *coverage) miss(s stall.Span) {
	s.Start = max(s.Start, c.first)
	if s.Empty() {
		return
	}
	c.unseen += s.Duration()
	c.tell(s)
}

func (c *coverage) tell(s stall.Span) { c.untold = appendUnseen(c.untold, s) }

// appendUnseen appends s to list. Where there are too many, the last span reaches over
// all of them: more is unseen than was, never less.
func appendUnseen(list []stall.Span, s stall.Span) []stall.Span {
	n := len(list)
	switch {
	case s.Empty():
		return list
	case n < maxUntold:
		return append(list, s)
	}
	last := &list[n-1]
	last.Start, last.End = min(last.Start, s.Start), max(last.End, s.End)
	return list
}

// status returns the watermark at now, and the spans before it that were not
// seen and are in no batch so far.
func (c *coverage) status(now stall.Instant) (stall.Instant, []stall.Span) {
	if !c.watching && c.first != 0 {
		c.miss(stall.Span{Start: c.mark, End: now})
		c.mark = max(c.mark, now)
	}
	spans := c.untold
	c.untold = nil
	return c.mark, spans
}

// fraction returns how much of the time since the first session was seen.
func (c *coverage) fraction() float64 {
	whole := c.mark.Sub(c.first)
	if whole <= 0 {
		return 0
	}
	return max(0, 1-c.unseen.Seconds()/whole.Seconds())
}

// maxWaiting bounds the collections that are waited for.
const maxWaiting = 64

// waiting knows the collections of which a stop was seen and whose record is
// not there yet: that of a background collection comes at its end. The pauses
// come with the record, so the watermark may not pass the first of them.
type waiting struct {
	since   map[uint64]stall.Instant // start of the first stop, by index
	pending stall.Instant            // start of a stop that is not over, 0 for none
	there   []uint64                 // indexes of the last records, at most maxWaiting
}

func (w *waiting) stop(s *dotnetgc.Stop) {
	if w.since == nil {
		w.since = make(map[uint64]stall.Instant)
	}
	for _, index := range s.Collections {
		if slices.Contains(w.there, index) {
			continue // events were lost: the record came before its stop
		}
		if first, ok := w.since[index]; !ok || s.Start() < first {
			w.since[index] = s.Start()
		}
	}
	for len(w.since) > maxWaiting {
		delete(w.since, w.oldest())
	}
}

func (w *waiting) collection(index uint64) {
	delete(w.since, index)
	if len(w.there) == maxWaiting {
		w.there = slices.Delete(w.there, 0, 1)
	}
	w.there = append(w.there, index)
}

func (w *waiting) oldest() uint64 {
	var oldest uint64
	for index := range w.since {
		if oldest == 0 || index < oldest {
			oldest = index
		}
	}
	return oldest
}

// reset forgets all: the session is over.
func (w *waiting) reset() { *w = waiting{} }

// bound returns the watermark, no later than what is waited for.
func (w *waiting) bound(mark stall.Instant) stall.Instant {
	if w.pending != 0 {
		mark = min(mark, w.pending)
	}
	for _, start := range w.since {
		mark = min(mark, start)
	}
	return mark
}
