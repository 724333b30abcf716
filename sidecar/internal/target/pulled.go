package target

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/gopprof"
	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// Pulled is what was asked of a Go program's own tracer. Durations are nanoseconds.
type Pulled struct {
	Endpoint string `json:"endpoint,omitempty"` // that answered
	Slices   uint64 `json:"slices"`             // that were taken whole
	Failed   uint64 `json:"failed,omitempty"`   // that were asked for in vain, or ended early
	Traced   int64  `json:"traced"`             // time of all of them
	Requests uint64 `json:"requests"`           // that a slice has whole
	Cut      uint64 `json:"cut,omitempty"`      // that began before their slice, or went on behind it
	Moved    uint64 `json:"moved,omitempty"`    // that ended on another goroutine: their stops alone are known
	Over     uint64 `json:"over,omitempty"`     // requests and goroutines over a limit
	Why      string `json:"why,omitempty"`      // the last slice failed
	// Disagreements are stops within slices that either the probes or the trace did not see.
	Disagreements uint64 `json:"disagreements,omitempty"`
}

// pull is the reading of a program's own tracer.
type pull struct {
	source  *gopprof.Source
	level   slog.Level     // of a failure: who was not named need not serve a trace
	last    gopprof.Status // that was taken
	failure string         // as it was said last
}

// openPull opens the endpoint of the program, if that was asked for.
func (p *process) openPull() (*pull, error) {
	if p.pprof == "" {
		return nil, nil
	}
	s, err := gopprof.Open(gopprof.Options{PID: p.ID.PID, URL: p.pprof, Clock: p.Clock, Turn: p.turn})
	if err != nil {
		return nil, err
	}
	if p.summary.Pulled == nil {
		p.summary.Pulled = new(Pulled)
	}
	p.log.Info("asking a Go process for its execution trace", "endpoint", s.Asked(), "of_its_cpu_time", gopprof.DefaultBudget)
	l := &pull{source: s, level: slog.LevelWarn}
	if p.pprof == gopprof.Auto {
		l.level = slog.LevelInfo
	}
	return l, nil
}

// slice is what a batch of a trace told, in memory of its own.
type slice struct {
	requests []evidence.Request
	status   gopprof.Status
	stretch  tracedStretch // if it is told beside probes
}

// maxSlices wait for the process's goroutine. If there are more, the reading of the trace
// waits: a slice that is not read costs the program no more than its memory.
const maxSlices = 4

// beside reads the trace on a goroutine of its own, while probes tell of the stops. The
// channel is closed after the source, when all is told.
func (l *pull) beside() <-chan slice {
	c := make(chan slice, maxSlices)
	go func() {
		defer close(c)
		mark := stall.Instant(0)
		for {
			b, err := l.source.Next(context.Background())
			if err != nil {
				return
			}
			v := l.told()
			v.stretch = stretch(&b, mark)
			mark = b.Watermark
			c <- v
		}
	}()
	return c
}

// told returns what the last batch told.
func (l *pull) told() slice {
	return slice{requests: slices.Clone(l.source.Requests()), status: l.source.Status()}
}

// takeSlice exports the requests of a slice, and notes how the tracer answered.
func (p *process) takeSlice(l *pull, v slice) {
	s := p.summary.Pulled
	for i := range v.requests {
		q := &v.requests[i]
		if q.Moved {
			s.Moved++
		}
		s.Requests++
		p.output.telemetry.Request(&telemetry.Request{
			Share: &q.Share, Collections: q.Share.Collections, Kind: gc.Background, Route: clean(q.Name),
		})
	}
	p.sendTraced(v.requests)
	p.golang.both.traced(v.stretch)
	now, last := &v.status, &l.last
	begin, end := now.Cut.Begin-last.Cut.Begin, now.Cut.End-last.Cut.End
	over := now.Incomplete + now.Cut.Over - last.Incomplete - last.Cut.Over
	p.output.dropped("request", "cut_begin", begin)
	p.output.dropped("request", "cut_end", end)
	p.output.dropped("trace_record", "limit", over)
	s.Cut += begin + end
	s.Over += over
	s.Slices += now.Slices - last.Slices
	s.Failed += now.Failed - last.Failed
	s.Traced += int64(now.Traced - last.Traced)
	s.Endpoint, s.Why = now.Endpoint, ""
	if now.Err != nil {
		s.Why = now.Err.Error()
	}
	if errors.Is(now.Err, context.Canceled) { // we end, and the slice with us
		s.Failed -= now.Failed - last.Failed
		s.Why = l.failure
	}
	if s.Why != l.failure && s.Why != "" {
		p.log.Log(context.Background(), l.level, "the process did not give its trace", "error", s.Why)
	}
	l.last = *now
	l.failure = s.Why
}

// endSlice exports the collections that waited for the end of a slice, and counts the stops
// on which the two doors disagree.
func (p *process) endSlice() {
	all, differ := p.golang.both.end()
	p.tellGo(all)
	if len(differ) == 0 {
		return
	}
	s := p.summary.Pulled
	if s.Disagreements == 0 {
		p.log.Warn("a stop of the process is seen by its probes and not by its trace, or the other way round",
			"stops", len(differ), "seen_by", differ[0].Origin.String(), "cause", differ[0].Cause.String(), "length", differ[0].Duration())
	}
	s.Disagreements += uint64(len(differ))
	p.output.dropped("cross_check", "disagreement", uint64(len(differ)))
}

// alone reads the program by its tracer alone, until the process ends, ctx is done, or
// again says that the program can be looked at anew: its stops and collections are seen in
// the slices, and the rest of the time is unseen.
func (p *process) alone(ctx context.Context, l *pull, again func() bool) {
	defer l.source.Close()
	v := &p.golang
	now := p.Clock.Now()
	v.cover.Attach(now, now)
	for {
		b, err := l.source.Next(ctx)
		if err != nil {
			break // we were told to end, or the process is gone
		}
		p.takeSlice(l, l.told())
		p.takeTraced(&b, l.source.Reason)
		if p.Gone(nil) || again() {
			break
		}
	}
	v.pending = p.tellPending(v.pending)
	now = p.Clock.Now()
	v.detach(now)
	mark, unseen := v.cover.Take(now) // the slice that was broken off, if any: nobody need wait for it
	for _, s := range unseen {
		p.unseen = coverage.Append(p.unseen, s)
	}
	p.mark, p.covered = mark, v.cover.Coverage
}

// again returns what says whether a program that could not be probed should be looked at
// anew: the process executes another one by now, or the probes can be set after all. They are
// tried again ever later, unless it is a matter of rights or of the kernel.
func (p *process) again(ctx context.Context, why error) func() bool {
	program := func() []byte {
		text, _ := dotnetipc.Look(ctx, p.proc, p.ID.PID, func() ([]byte, error) {
			return p.proc.Program(p.ID.PID)
		})
		return text
	}
	never := errors.Is(why, fs.ErrPermission) || errors.Is(why, stall.ErrNotSupported)
	first, delay := program(), scanEvery
	due := p.Clock.Now().Add(delay)
	return func() bool {
		if now := program(); len(now) > 0 && len(first) > 0 && !bytes.Equal(now, first) {
			return true
		}
		if never || p.Clock.Now() < due {
			return false
		}
		s, err := p.attach(ctx)
		if err == nil {
			_ = s.Close() // it is attached again, when its telemetry begins anew
			return true
		}
		delay = min(2*delay, longestRest)
		due = p.Clock.Now().Add(delay)
		return false
	}
}

// takeTraced exports a batch of the trace. How many collections there were between slices
// is not known, so they have no number.
func (p *process) takeTraced(b *source.Batch, reason func(int) string) {
	v := &p.golang
	if b.Epoch != v.epoch || len(b.Unseen) > 0 {
		v.pending = p.tellPending(v.pending)
	}
	for i := range b.Intervals {
		if s := &b.Intervals[i]; s.Cause == stall.GCPause && len(v.pending) < maxPending {
			v.pending = append(v.pending, *s)
		}
	}
	for i := range b.Collections {
		c := &b.Collections[i]
		v.pending = slices.DeleteFunc(v.pending, func(s stall.Interval) bool { return s.Ref == c.Index })
		c.Index = 0
	}
	v.base, v.epoch = 0, b.Epoch
	told := *b
	told.Lost.Count = 0 // they were counted with the slice
	p.takeGo(&told, reason)
}

// maxPending bounds the pauses that wait for the end of their collection.
const maxPending = 1024

// tellPending exports pauses of collections that a slice does not show to their end.
func (p *process) tellPending(pauses []stall.Interval) []stall.Interval {
	for len(pauses) > 0 {
		c := gc.Collection{
			Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerUnknown, Origin: stall.GoTrace, Fidelity: stall.Exact,
			Incomplete: "the slice of the trace lacks a part of it",
		}
		ref, n := pauses[0].Ref, 0
		for n < len(pauses) && pauses[n].Ref == ref {
			s := &pauses[n]
			c.Pauses = append(c.Pauses, gc.Pause{Start: s.Start, End: s.End, EndMax: s.End, Slack: s.Slack})
			n++
		}
		p.usual.Fill(&c, p.host.during)
		p.summary.collection(&c)
		p.collection(&c)
		pauses = pauses[n:]
	}
	p.golang.open = 0
	return pauses[:0]
}
