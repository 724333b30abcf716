package dotnet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet/events"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// process is one run of one process, from its first session to its end. It reads the
// events of the process and exports them. All of it belongs to one goroutine.
type process struct {
	events.Options
	source    *events.Source // nil before the process is read
	proc      dotnetipc.Proc
	log       *slog.Logger
	order     uint64   // when it was first seen
	after     []func() // what is to be done when it ended; the watcher's
	abandon   context.CancelCauseFunc
	displaced bool // another has its place; the watcher's

	progress func(Progress) // nil: nobody asks

	followed *hostwatch.Watch // that another reads, nil for none
	host     host
	usual    slowed.Usual
	recorder recorder
	output   *output // nil before the first session
	summary  Summary

	outside   outside
	gcThreads gcThreads

	failure  error         // of the last session
	mark     stall.Instant // watermark of the last batch
	unseen   []stall.Span  // since the last status
	status   stall.Instant // when the last one was exported
	statuses int
	reported stall.Instant // its watermark
}

func newProcess(o Options, id dotnetipc.Identity) *process {
	p := &process{Options: events.Options{Clock: o.Clock, ID: id}, proc: o.Proc, followed: o.Followed, recorder: recorder{add: o.Record}, progress: o.Progress, order: uint64(o.Clock.Now())}
	p.log = o.Log.With("pid", id.PID)
	p.Group = groupOf(o.Proc, id)
	p.summary = Summary{PID: id.PID, order: p.order, group: p.Group}
	return p
}

// run reads the events of the process until it ends or ctx does.
func (p *process) run(ctx context.Context) {
	p.source = events.New(p.Options)
	defer context.AfterFunc(ctx, func() { _ = p.source.Close() })()
	for {
		b, err := p.source.Next(context.Background())
		switch f := (*events.Failure)(nil); {
		case errors.As(err, &f):
			p.failed(ctx, f)
		case err != nil:
			p.end(ctx)
			return
		default:
			p.take(ctx, &b, p.source.Observations())
		}
	}
}

// failed takes in why a session has ended.
func (p *process) failed(ctx context.Context, f *events.Failure) {
	said := p.failure
	if p.failure = errors.Unwrap(f); errors.Is(f, events.ErrDetached) {
		p.summary.Detached++
		p.summary.DetachedWhy = f.Error()
		if p.output != nil {
			p.output.overLimit(itemSession, 1)
		}
	}
	if ctx.Err() != nil {
		return
	}
	p.lookOutside(ctx)
	p.complain(said, f.Again)
	p.tell(cmp.Or(p.outside.why, p.failure.Error()), false)
}

// tell says how far the process was watched, and why it is not now, empty if it is.
func (p *process) tell(why string, over bool) {
	if p.progress == nil {
		return
	}
	v := Progress{ID: p.recorder.id, Summary: p.summary, Over: over}
	v.Why = why
	v.Collections.Kinds, v.Collections.Generations = maps.Clone(v.Collections.Kinds), maps.Clone(v.Collections.Generations)
	v.GCThreads = slices.Clone(v.GCThreads)
	if p.output != nil && v.Unexported == nil {
		v.Unexported = p.output.providers.Unexported(nil)
	}
	p.progress(v)
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

// take exports a batch.
func (p *process) take(ctx context.Context, b *source.Batch, o *events.Observations) {
	if o.Began != nil {
		if err := p.open(ctx, o.Began.Info); err != nil {
			p.failure = err
			_ = p.source.Close()
			return
		}
		p.summary.Sessions++
		p.log.Info("watching a .NET process", "service", p.summary.Service, "runtime", o.Began.Info.Version, "collect_tracing", o.Began.Version)
	}
	for _, s := range b.Unseen {
		p.unseen = events.AppendUnseen(p.unseen, s)
	}
	if p.output == nil {
		return
	}
	for i := range o.Stops {
		p.stop(&o.Stops[i])
	}
	if len(b.Unseen) > 0 {
		p.summary.inGC.reset()
	}
	for i := range b.Collections {
		c := &b.Collections[i]
		p.recorder.latency(o.Modes[i])
		p.usual.Fill(c, p.host.during)
		p.summary.collection(c)
		p.collection(c)
	}
	p.summary.Lost += b.Lost.Count
	p.output.lost(o.Lost)
	p.output.overLimit(itemRecord, o.GivenUp)
	p.output.overLimit(itemThread, o.Forgotten)
	p.mark = b.Watermark
	if now := p.Clock.Now(); now.Sub(p.status) >= statusEvery {
		p.report(now, false)
	}
}

func (p *process) collection(c *gc.Collection) {
	p.output.collection(c)
	p.recorder.collection(c)
}

// stop takes in a stop. The pauses of collections are exported with them.
func (p *process) stop(s *dotnetgc.Stop) {
	if s.Start() < p.reported {
		p.summary.Late++
	}
	p.summary.stop(s)
	switch {
	case !s.Reason.IsGC():
		p.output.suspension(s)
		p.recorder.suspension(s)
	case len(s.Collections) == 0:
		p.collection(orphan(s))
	}
}

// report exports how far the process was seen.
func (p *process) report(now stall.Instant, last bool) {
	cover := p.source.Coverage()
	p.summary.cover(cover)
	p.reported = max(p.reported, p.mark)
	since := p.status
	if since == 0 {
		since = cover.First
	}
	p.output.status(since, now, p.reported, p.unseen, cover.Fraction(), &p.summary)
	if p.statuses%threadsEvery == 0 {
		p.lookAtThreads(now)
	}
	p.statuses++
	p.recorder.status(now, p.reported, p.summary.Lost, cover.Unseen, last)
	p.status, p.unseen = now, nil
	if !last {
		p.tell("", false)
	}
}

// host is what the machine does to a process, as its collections keep it. The
// zero host knows nothing.
type host struct {
	watch *hostwatch.Watch
	read  chan struct{} // closed when it is read no more; nil if another reads it
}

// watchHost counts what the machine does to the process, unless its threads
// are followed already. Counters cost a few reads of /proc ten times a
// second; to follow the threads of every process would cost each of their
// switches.
func (p *process) watchHost(followed *hostwatch.Watch) {
	if p.ID.PID == 0 {
		p.log.Info("what the machine does to the process cannot be seen from here")
		return
	}
	owner := stall.Owner{PID: int32(p.ID.PID), Created: p.ID.Created}
	if followed != nil && followed.Owner() == owner {
		p.host = host{watch: followed}
		return
	}
	w, err := hostwatch.New(hostwatch.Options{PID: p.ID.PID, Clock: p.Clock, CountersOnly: true})
	if err != nil {
		p.log.Info("what the machine does to the process is not counted", "error", err)
		return
	}
	if w.Owner() != owner {
		// It has ended, and its number was given to another.
		_ = w.Close()
		p.log.Info("what the machine does to the process is not counted", "error", dotnetipc.ErrNoProcess)
		return
	}
	read := make(chan struct{})
	p.host = host{watch: w, read: read}
	go func() {
		defer close(read)
		for err := error(nil); err == nil; _, err = w.Next(context.Background()) {
		}
	}()
}

// during returns what the machine did to the process in s.
func (h host) during(s stall.Span, _ time.Duration) gc.HostDuring {
	if h.watch == nil {
		return gc.HostDuring{}
	}
	return h.watch.During(s)
}

// stop ends the watch. That the process ended before is no news.
func (h host) stop() {
	if h.read != nil {
		_ = h.watch.Close()
		<-h.read
	}
}
