package target

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// process is one run of one process, from its first session to its end. It reads the
// events of the process and exports them. All of it belongs to one goroutine.
type process struct {
	dotnet.Options
	source    *dotnet.Source // nil before the process is read as one of .NET
	proc      dotnetipc.Proc
	pprof     string // Options.Pprof
	turn      chan struct{}
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
	golang    goView
	gcThreads gcThreads

	failure  error             // of the last session
	covered  coverage.Coverage // by the last batch
	mark     stall.Instant     // watermark of the last batch
	unseen   []stall.Span      // since the last status
	status   stall.Instant     // when the last one was exported
	statuses int
	reported stall.Instant // its watermark
}

func newProcess(o Options, id dotnetipc.Identity) *process {
	p := &process{Options: dotnet.Options{Clock: o.Clock, ID: id}, proc: o.Proc, pprof: o.Pprof, turn: o.turn, followed: o.Followed, recorder: recorder{add: o.Record}, progress: o.Progress, order: uint64(o.Clock.Now())}
	p.log = o.Log.With("pid", id.PID)
	p.Group = groupOf(o.Proc, id)
	p.summary = Summary{PID: id.PID, order: p.order, group: p.Group}
	return p
}

// run watches the process until it ends or ctx does: a Go program, or one that may be
// .NET, and what a launcher becomes.
func (p *process) run(ctx context.Context) {
	for other := true; other; {
		if p.outside.goes {
			other = p.watchGo(ctx)
		} else {
			other = p.watchDotnet(ctx)
		}
		if other {
			p.closeOutput() // what it becomes has telemetry of its own
			other = p.outside.asked
			p.outside = outside{asked: p.outside.asked, goes: !p.outside.goes}
		}
	}
	p.end(ctx)
}

// origin is that of what is seen of the process.
func (p *process) origin() stall.Origin {
	switch {
	case p.outside.goes && p.golang.traced:
		return stall.GoTrace
	case p.outside.goes:
		return stall.GoUprobe
	}
	return stall.Dotnet
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
	if v.Pulled != nil {
		pulled := *v.Pulled
		v.Pulled = &pulled
	}
	if p.output != nil && v.Unexported == nil {
		v.Unexported = p.output.providers.Unexported(nil)
	}
	p.progress(v)
}

func (p *process) collection(c *gc.Collection) {
	p.output.collection(c)
	p.recorder.collection(c)
}

// report exports how far the process was seen.
func (p *process) report(now stall.Instant, last bool) {
	p.summary.cover(p.covered)
	if l := p.summary.Pulled; l != nil && l.Slices > 0 {
		p.summary.Doors = p.summary.Doors.and(Tracer)
	}
	mark := p.mark
	if d := &p.golang.both; d.begun != 0 {
		mark = min(mark, d.hold) // spans of the slice wait for their requests, collections for their triggers
	}
	p.reported = max(p.reported, mark)
	if last {
		p.output.telemetry.Flush() // what is held would hold the watermark back
	}
	since := p.status
	if since == 0 {
		since = p.covered.First
	}
	p.output.status(p.origin(), since, now, p.reported, p.unseen, p.covered.Fraction(), &p.summary)
	if p.statuses%threadsEvery == 0 && !p.outside.goes {
		p.lookAtThreads(now)
	}
	p.statuses++
	p.recorder.status(p.origin(), now, p.reported, p.summary.Lost, p.covered.Unseen, last)
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
