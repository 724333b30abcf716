package dotnet

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// process is one run of one process, from its first session to its end. All of
// it belongs to one goroutine.
type process struct {
	id      dotnetipc.Identity
	clock   stall.Clock
	proc    dotnetipc.Proc
	log     *slog.Logger
	order   uint64 // when it was first seen
	connect func(context.Context) (*dotnetipc.Client, error)
	gone    func() bool // asked after a failure
	resume  bool        // it may wait for us at its start
	after   []func()    // what is to be done when it ended; the watcher's

	group     string // with whom it shares
	budget    *budget
	cancel    context.CancelCauseFunc
	displaced bool // another has its place; the watcher's

	followed *hostwatch.Watch // of somebody else, nil for none
	host     host
	usual    gc.Usual
	tape     tape
	output   *output // nil before the first session
	cover    coverage
	waiting  waiting
	summary  Summary

	outside     outside
	gcThreads   gcThreads
	allocations allocations

	failure  error         // of the last session
	status   stall.Instant // when the last one was told
	statuses int
	told     stall.Instant // its watermark
}

func newProcess(o Options, id dotnetipc.Identity) *process {
	p := &process{id: id, clock: o.Clock, proc: o.Proc, followed: o.Followed, tape: tape{add: o.Record}, order: uint64(o.Clock.Now())}
	p.allocations.on = o.Allocations
	p.log = o.Log.With("pid", id.PID)
	p.group = groupOf(o.Proc, id)
	p.summary = Summary{PID: id.PID, order: p.order, group: p.group}
	return p
}

// run holds a session with the process for as long as it lives and ctx lasts.
func (p *process) run(ctx context.Context) {
	delay := firstDelay
	for ctx.Err() == nil {
		began := p.clock.Now()
		said := p.failure
		p.failure = p.session(ctx)
		p.cover.detach()
		greedy := errors.Is(p.failure, errDetached)
		if greedy {
			p.detached()
		}
		if ctx.Err() != nil || p.ended(ctx) {
			break
		}
		if p.clock.Now().Sub(began) > lastDelay && !greedy {
			delay = firstDelay
		}
		p.lookOutside(ctx)
		p.complain(said, delay)
		p.wait(ctx, delay)
		delay = min(2*delay, lastDelay)
	}
	p.end(ctx)
}

// detached counts that the stream of the process took more than its share.
func (p *process) detached() {
	p.summary.Detached++
	p.summary.DetachedWhy = p.failure.Error()
	if p.output != nil {
		p.output.overLimit(itemSession, 1)
	}
}

// ended reports whether the process is gone. Its stream breaks off a moment
// before it is: of that nobody need hear.
func (p *process) ended(ctx context.Context) bool {
	for end := p.clock.Now().Add(endsIn); !p.gone(); {
		broke := errors.Is(p.failure, errStreamEnded) || errors.Is(p.failure, io.ErrUnexpectedEOF)
		if !broke || ctx.Err() != nil || p.clock.Now() > end {
			return false
		}
		time.Sleep(endsIn / 50)
	}
	return true
}

// complain says why the process is not watched, once.
func (p *process) complain(said error, delay time.Duration) {
	switch {
	case said != nil && said.Error() == p.failure.Error():
	case errors.Is(p.failure, dotnetipc.ErrNoSocket) && p.summary.Sessions == 0:
		// It may be any process, whose threads are watched.
		if !p.outside.goes {
			p.log.Info("no .NET runtime to attach to", "why", p.failure)
		}
	default:
		p.log.Warn("collections are not watched", "error", p.failure, "again_in", delay.String())
	}
}

// wait waits for d, and says every second that nothing is seen.
func (p *process) wait(ctx context.Context, d time.Duration) {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			return
		case <-ticker.C:
			if p.gone() {
				return
			}
			p.tell(p.clock.Now())
		}
	}
}

// tell says how far the process was seen, once a second.
func (p *process) tell(now stall.Instant) {
	if p.output != nil && now.Sub(p.status) >= statusEvery {
		p.tellNow(now, false)
	}
}

func (p *process) tellNow(now stall.Instant, last bool) {
	mark, spans := p.cover.status(now)
	p.summary.cover(&p.cover)
	since := p.status
	if since == 0 {
		since = p.cover.first
	}
	p.told = max(p.told, p.waiting.bound(mark))
	p.output.status(since, now, p.told, spans, p.cover.fraction(), &p.summary)
	if p.statuses%threadsEvery == 0 {
		p.lookAtThreads(now)
	}
	p.statuses++
	p.tape.status(now, p.told, p.summary.Lost, p.cover.unseen, last)
	p.status = now
}
