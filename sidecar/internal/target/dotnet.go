package target

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// watchDotnet reads what a .NET runtime says until the process ends or ctx does. It
// reports whether the process is a Go program.
func (p *process) watchDotnet(ctx context.Context) (goes bool) {
	p.source = dotnet.New(p.Options)
	defer context.AfterFunc(ctx, func() { _ = p.source.Close() })()
	for {
		b, err := p.source.Next(context.Background())
		p.covered = p.source.Coverage()
		switch f := (*dotnet.Failure)(nil); {
		case errors.As(err, &f):
			if p.failed(ctx, f) {
				_ = p.source.Close()
				return true
			}
		case err != nil:
			return false
		default:
			p.take(ctx, &b, p.source.Observations())
		}
	}
}

// failed takes in why a session has ended. It reports whether the process is a Go
// program.
func (p *process) failed(ctx context.Context, f *dotnet.Failure) (goes bool) {
	said := p.failure
	if p.failure = errors.Unwrap(f); errors.Is(f, dotnet.ErrDetached) {
		p.summary.Detached++
		p.summary.DetachedWhy = f.Error()
		if p.output != nil {
			p.output.overLimit(itemSession, 1)
		}
	}
	if ctx.Err() != nil {
		return false
	}
	if p.lookOutside(ctx) {
		return true
	}
	p.complain(said, f.Again)
	p.tell(cmp.Or(p.outside.why, p.failure.Error()), false)
	return false
}

// complain says why the process is not watched, once.
func (p *process) complain(said error, delay time.Duration) {
	switch {
	case said != nil && said.Error() == p.failure.Error():
	case errors.Is(p.failure, dotnetipc.ErrNoSocket) && p.summary.Sessions == 0:
		// It may be any process, whose threads are watched.
		p.log.Info("no .NET runtime to attach to", "why", p.failure)
	default:
		p.log.Warn("collections are not watched", "error", p.failure, "again_in", delay.String())
	}
}

// openDotnet makes the telemetry of the process before its first session.
func (p *process) openDotnet(ctx context.Context, info dotnetipc.ProcessInfo) error {
	if p.output != nil {
		return nil
	}
	env, err := p.open(ctx, info)
	if err == nil && p.recorder.add != nil {
		p.recorder.target(recording.Target{
			ID: p.recorder.id, PID: p.ID.PID, Name: p.summary.Service, Runtime: "dotnet",
			Facts: runtimeLine(p.configuration(ctx, env, info)), At: p.Clock.Now(),
		})
	}
	return err
}

// take exports a batch.
func (p *process) take(ctx context.Context, b *source.Batch, o *dotnet.Observations) {
	if o.Began != nil {
		if err := p.openDotnet(ctx, o.Began.Info); err != nil {
			p.failure = err
			_ = p.source.Close()
			return
		}
		p.summary.Sessions++
		p.log.Info("watching a .NET process", "service", p.summary.Service, "runtime", o.Began.Info.Version, "collect_tracing", o.Began.Version)
	}
	for _, s := range b.Unseen {
		p.unseen = coverage.Append(p.unseen, s)
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
	p.output.dropped("dotnet_event", "buffer_full", o.Lost)
	p.output.overLimit(itemRecord, o.GivenUp)
	p.output.overLimit(itemThread, o.Forgotten)
	p.mark = b.Watermark
	if now := p.Clock.Now(); now.Sub(p.status) >= statusEvery {
		p.report(now, false)
	}
}

// stop takes in a stop. The pauses of collections are exported with them.
func (p *process) stop(s *dotnetgc.Stop) {
	if s.Start() < p.reported {
		p.summary.Late++
	}
	p.summary.stop(s)
	switch {
	case !s.Reason.IsGC():
		p.output.telemetry.Suspension(s.Interval(), s.Reason.String(), "", stall.Exact)
		p.recorder.suspension(recording.Suspension{
			Span: stall.Span{Start: s.Start(), End: s.RestartBegin}, EndMax: max(s.RestartBegin, s.RestartEnd), Reason: s.Reason.String(),
		})
	case len(s.Collections) == 0:
		p.collection(orphan(s))
	}
}

// orphan holds a stop for a collection that was not seen: events were lost, or
// the collector stopped the world for something else. No collection is counted.
func orphan(s *dotnetgc.Stop) *gc.Collection {
	return &gc.Collection{
		Pauses:     []gc.Pause{{Start: s.Start(), End: s.RestartBegin, EndMax: max(s.RestartBegin, s.RestartEnd)}},
		Incomplete: whyOrphan(s.Reason),
		Origin:     stall.Dotnet, Fidelity: stall.Exact,
	}
}

func whyOrphan(r dotnetgc.SuspendReason) string {
	if r == dotnetgc.ForGCPrep {
		return "no collection was seen to run: it began before the session, or the collector changed its number of heaps"
	}
	return "no collection was seen to begin in it: events were lost, or the collector made none, as where a no-GC region begins"
}
