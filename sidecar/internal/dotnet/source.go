// Package dotnet reads what the runtime of a .NET process says of its stops and
// collections, as a [source.Source]. The streams of all processes share one [Budget] of
// memory and CPU time.
package dotnet

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	// readFor is how long a read of a quiet stream waits.
	readFor = 250 * time.Millisecond
	// headerFor is how long the start of a stream may take. It comes with the
	// answer.
	headerFor = 3 * time.Second
	// deliveredIn bounds the time from an event to its arrival: the runtime
	// sends what it has every 100 ms (ep-session.c, streaming_thread). 291 ms
	// is the longest that was measured, on a busy machine.
	deliveredIn = time.Second
	// incompleteAfter is how long the parts of a collection that is over are
	// waited for. Under server GC they come after its end.
	incompleteAfter = 2 * time.Second
	// knownEvery bounds the time that Next takes between two sessions.
	knownEvery = time.Second

	// After a session failed the next is tried after firstDelay, then twice
	// that and so on up to lastDelay: a session that was left behind takes one
	// of the 64 of the process until its next event.
	firstDelay = time.Second
	lastDelay  = time.Minute
	// endsIn is how long a process may take to be gone when its stream is over.
	endsIn = 500 * time.Millisecond
	// StopFor bounds the end of a session.
	StopFor = 2 * time.Second
)

// Options are of one process. All must be set but Resume.
type Options struct {
	Clock   stall.Clock
	ID      dotnetipc.Identity
	Connect func(context.Context) (*dotnetipc.Client, error)
	Gone    func(failure error) bool // whether the process has ended, after a failure
	Resume  bool                     // it may wait for us at its start
	Budget  *Budget
	Group   string // with which it shares the budget
}

// Source is the [source.Source] of one .NET process: what its runtime says of stops
// and collections, in one session after the other until the process ends. The Ref of
// an interval is the runtime's own count of collections.
//
// Next returns a *[Failure] where a session fails, and then begins another after a
// delay that doubles. What lies between two sessions is unseen.
type Source struct {
	o      Options
	ctx    context.Context // done when the source is closed
	cancel context.CancelFunc

	// Of the caller of Next:
	view    *view         // of the session that is on, nil for none
	broke   error         // why the last one ended, until Next has returned it
	last    error         // the same, kept
	tried   stall.Instant // when it began
	delay   time.Duration // before the next one
	again   time.Time     // when it begins
	cover   coverage.Tracker
	waiting waiting
	over    bool // Next has nothing more to say
	batch   source.Batch
	seen    Observations
}

var _ source.Source = (*Source)(nil)

// Observations are what .NET says beside a batch.
type Observations struct {
	Began     *Began                         // a session that began, nil if none did
	Stops     []dotnetgc.Stop                // of the intervals of the batch
	Modes     []gc.Maybe[dotnetgc.PauseMode] // of the collections of the batch
	Lost      uint64                         // events, by the runtime
	GivenUp   uint64                         // records of the model over a limit
	Forgotten uint64                         // threads over a limit, of which losses are not seen
}

// Began is a session that began.
type Began struct {
	Info    dotnetipc.ProcessInfo
	Version int // of CollectTracing
}

// Failure is why a session ended, and when the next one begins.
type Failure struct {
	error
	Again time.Duration // until then
}

func (f *Failure) Unwrap() error { return f.error }

// New returns the source of a process. It begins with the first call of Next.
func New(o Options) *Source {
	e := &Source{o: o, delay: firstDelay}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Observations returns what .NET said beside the last batch. It is valid until the next
// call of Next.
func (e *Source) Observations() *Observations { return &e.seen }

// Coverage returns how much of the process was seen by the last batch.
func (e *Source) Coverage() coverage.Coverage { return e.cover.Coverage }

// Close ends the session in good order, while Next reads what is left of it.
func (e *Source) Close() error {
	e.cancel()
	return nil
}

// Next returns what became known: at once what is in the stream, and otherwise at
// least once a second how far it was seen. The error is io.EOF when the process has
// ended or the source was closed, and a *Failure when a session has failed.
func (e *Source) Next(ctx context.Context) (source.Batch, error) {
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
func (e *Source) reset() {
	e.batch = source.Batch{Intervals: e.batch.Intervals[:0], Collections: e.batch.Collections[:0]}
	e.seen = Observations{Stops: e.seen.Stops[:0], Modes: e.seen.Modes[:0]}
}

// look reads the session that is on, and ends it where it is over.
func (e *Source) look() {
	v := e.view
	if e.broke = v.read(); e.broke == nil {
		return
	}
	v.finish()
	e.view = nil
	e.cover.Detach()
}

// known returns the batch, with how far the process was seen.
func (e *Source) known() source.Batch {
	var mark stall.Instant
	mark, e.batch.Unseen = e.cover.Take(e.o.Clock.Now())
	e.batch.Watermark = e.waiting.bound(mark)
	e.batch.Lost.Count = e.seen.Lost + e.seen.GivenUp
	return e.batch
}

// retry returns why the session has ended, and plans the next one. It returns nil if
// there is no next one: the process is gone, or the source was closed.
func (e *Source) retry(ctx context.Context) error {
	e.last, e.broke = e.broke, nil
	greedy := errors.Is(e.last, ErrDetached)
	if !greedy && (e.ctx.Err() != nil || e.ended(ctx)) {
		e.over = true
		return nil
	}
	if e.o.Clock.Now().Sub(e.tried) > lastDelay && !greedy {
		e.delay = firstDelay
	}
	f := &Failure{e.last, e.delay}
	e.again = time.Now().Add(e.delay)
	e.delay = min(2*e.delay, lastDelay)
	return f
}

// ended reports whether the process is gone. Its stream breaks off a moment before it
// is: that is no failure.
func (e *Source) ended(ctx context.Context) bool {
	for end := e.o.Clock.Now().Add(endsIn); !e.o.Gone(e.last); {
		broke := errors.Is(e.last, errStreamEnded) || errors.Is(e.last, io.ErrUnexpectedEOF)
		if !broke || ctx.Err() != nil || e.ctx.Err() != nil || e.o.Clock.Now() > end {
			return false
		}
		time.Sleep(endsIn / 50)
	}
	return true
}

// rest waits for the time of the next session, for a second at most, and reports
// whether it has come.
func (e *Source) rest(ctx context.Context) bool {
	left := time.Until(e.again)
	timer := time.NewTimer(max(0, min(left, knownEvery)))
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
	return left <= knownEvery || e.o.Gone(e.last)
}
