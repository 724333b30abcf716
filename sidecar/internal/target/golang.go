package target

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/gouprobe"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// goView is what is seen of a Go program.
type goView struct {
	cover coverage.Tracker
	epoch uint64        // of the last batch
	base  uint64        // the collections of the epochs before
	open  stall.Instant // when the first stop was of a collection whose record is not there, 0 for none
	ref   uint64        // of that collection, as the batches have it

	links   bool             // otelgc: it exports its collections itself
	traced  bool             // by its tracer alone
	pending []stall.Interval // pauses of the trace whose collection has not ended
	both    bothDoors        // of a slice that is taken while the program is probed
}

// watchGo watches a Go program until the process ends or ctx is done, with one attach
// after the other. It reports whether the process goes on as another kind of program.
func (p *process) watchGo(ctx context.Context) (other bool) {
	delay := scanEvery
	for {
		said := p.failure
		p.failure = p.goSession(ctx)
		switch {
		case ctx.Err() != nil || p.Gone(p.failure):
			return false
		case errors.Is(p.failure, goprogram.ErrNotGo):
			return true
		case p.failure == nil: // it executes another program
			delay = scanEvery
		case errors.Is(p.failure, goprogram.ErrStarting):
		default:
			if said == nil || said.Error() != p.failure.Error() {
				p.log.Warn("collections are not watched", "error", p.failure, "again_in", delay.String())
			}
			p.tell(cmp.Or(p.outside.why, p.failure.Error()), false)
		}
		if !p.rest(ctx, delay) {
			return false
		}
		delay = min(2*delay, longestRest)
	}
}

// rest waits before the next attach, and reports whether the process is still there. It
// looks once a second.
func (p *process) rest(ctx context.Context, delay time.Duration) bool {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for end := p.Clock.Now().Add(delay); p.Clock.Now() < end; {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		if p.Gone(nil) {
			return false
		}
	}
	return true
}

// goSession attaches to the program, and reads it until the process ends or executes
// another program. The error is why it could not, or not any longer.
func (p *process) goSession(ctx context.Context) error {
	g, err := p.lookAtGo(ctx)
	if err != nil {
		return err
	}
	p.summary.Runtime = g.Version
	s, err := p.attach(ctx)
	if err == nil && p.Gone(nil) {
		return s.Close() // its number may be another's by now
	}
	l, noPull := p.openPull()
	if noPull != nil {
		p.log.Warn("the process is not asked for its trace", "error", noPull)
	}
	if p.golang.traced = err != nil && l != nil; p.golang.traced {
		return p.watchTraced(ctx, g, l, err)
	}
	if l != nil {
		defer l.source.Close()
	}
	if err == nil {
		err = p.openGo(ctx, g)
	}
	if err != nil {
		if s != nil {
			_ = s.Close() // the first error counts
		}
		p.unwatchedGo(ctx, g, err)
		return err
	}
	return p.readGo(ctx, s, l)
}

// watchTraced watches a program that cannot be probed by its tracer alone.
func (p *process) watchTraced(ctx context.Context, g *goProgram, l *pull, why error) error {
	if err := p.openGo(ctx, g); err != nil {
		_ = l.source.Close() // it has no error
		p.unwatchedGo(ctx, g, err)
		return err
	}
	p.log.Info("its stops are seen in slices of its trace alone", "why", why)
	p.alone(ctx, l, p.again(ctx, why))
	return nil
}

// attach probes the program. It comes back where the process's files never answer, and
// leaves no probe behind if they do later.
func (p *process) attach(ctx context.Context) (*gouprobe.Source, error) {
	var mu sync.Mutex
	var late *gouprobe.Source
	gone := false
	s, err := dotnetipc.Look(ctx, p.proc, p.ID.PID, func() (*gouprobe.Source, error) {
		s, err := gouprobe.Attach(gouprobe.Options{PID: p.ID.PID, Clock: p.Clock})
		mu.Lock()
		defer mu.Unlock()
		if late = s; gone && s != nil {
			_ = s.Close() // nobody waits for it any more
		}
		return s, err
	})
	if err == nil {
		return s, nil
	}
	mu.Lock()
	defer mu.Unlock()
	if gone = true; late != nil {
		_ = late.Close() // it came as the wait was given up
	}
	return nil, err
}

// openGo makes the telemetry of the program.
func (p *process) openGo(ctx context.Context, g *goProgram) error {
	info := dotnetipc.ProcessInfo{PID: uint64(p.ID.PID), Version: g.Version}
	if args, err := p.proc.Arguments(ctx, p.ID.PID); err == nil {
		info.CommandLine = strings.Join(args, " ")
		info.CommandLine = info.CommandLine[:min(len(info.CommandLine), maxValue)]
	}
	p.closeOutput() // of the program that it executed before
	p.golang.links = g.Instrumented
	if _, err := p.open(ctx, info); err != nil {
		return err
	}
	facts := g.line()
	p.recorder.target(recording.Target{ID: p.recorder.id, PID: p.ID.PID, Name: p.summary.Service, Runtime: "go", Facts: facts, At: p.Clock.Now()})
	p.outside.why = ""
	p.summary.Sessions++
	p.log.Info("watching a Go process", "service", p.summary.Service, "runtime", facts["version"],
		"GOGC", facts["GOGC"], "GOMEMLIMIT", facts["GOMEMLIMIT"], "GOMAXPROCS", facts["GOMAXPROCS"], "build", facts[recording.FactBuild])
	if g.Instrumented {
		p.log.Info("the program links otelgc, which exports its collections: what is seen of it here is recorded and shown, and not exported")
	}
	return nil
}

// unwatchedGo records that the program is not watched.
func (p *process) unwatchedGo(ctx context.Context, g *goProgram, err error) {
	if ctx.Err() != nil {
		return
	}
	p.outside.why = goUnwatched + err.Error()
	if p.summary.Service == "" {
		p.summary.Service = p.outsideName(ctx)
	}
	p.recorder.target(recording.Target{
		ID: p.recorder.id, PID: p.ID.PID, Name: p.summary.Service, Runtime: "go", Facts: g.line(), At: p.Clock.Now(), Unwatched: p.outside.why,
	})
}

// goUnwatched is how it begins why the collections of a Go program are not watched.
const goUnwatched = "it is a Go program, whose collections cannot be watched from here: "

// readGo reads the stops and collections to the end of the attach, and the requests of the
// program's trace if l is not nil.
func (p *process) readGo(ctx context.Context, s *gouprobe.Source, l *pull) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })() // its error comes below
	p.summary.Doors = p.summary.Doors.and(Probes)
	v := &p.golang
	v.cover.Attach(proc.MadeAt(p.Clock, p.ID.Created), p.Clock.Now())
	var told <-chan slice
	if l != nil {
		told = l.beside()
		defer func() {
			_ = l.source.Close() // it has no error
			for s := range told {
				p.takeSlice(l, s)
			}
			v.both.seen = false // the probes may not have told all
			p.endSlice()
		}()
	}
	for {
		b, err := s.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			_ = s.Close() // the first error counts
			v.detach(p.Clock.Now())
			return err
		}
		slicing := stall.Instant(0)
		if l != nil {
			slicing = l.slicing(p.Clock.Now()) // before what was told is taken: that is of it, or of one before
		}
		if slicing != 0 && v.both.begun == 0 {
			v.both.begin(slicing)
		}
		for len(told) > 0 {
			if s, open := <-told; open {
				p.takeSlice(l, s)
			}
		}
		p.takeGo(&b, s.Evidence)
		if v.both.over(slicing, b.Watermark, p.Clock.Now()) {
			p.endSlice()
		}
	}
	v.detach(p.Clock.Now())
	p.covered = v.cover.Coverage
	return s.Close()
}

// detach ends what is known of the attach.
func (v *goView) detach(now stall.Instant) {
	v.cover.Detach()
	v.open = 0
}

// takeGo exports a batch. Reason names that of an interval.
func (p *process) takeGo(b *source.Batch, reason func(int) string) {
	v := &p.golang
	if b.Epoch != v.epoch {
		p.tellGo(v.both.waiting)
		v.both.waiting = v.both.waiting[:0]
		// How many there were between is not known.
		v.epoch, v.base, v.open = b.Epoch, p.summary.LastIndex, 0
	}
	for i := range b.Intervals {
		p.goStop(&b.Intervals[i], reason(i))
	}
	v.await(b)
	waits := v.both.probed(b)
	for i := range b.Collections {
		c := &b.Collections[i]
		if c.Index += v.base; waits {
			v.both.wait(c)
		}
	}
	if !waits {
		p.tellGo(v.both.waiting)
		v.both.waiting = v.both.waiting[:0]
		p.tellGo(b.Collections)
	}
	for _, s := range b.Unseen {
		v.cover.Miss(s)
	}
	v.cover.Saw(b.Watermark)
	p.summary.Lost += b.Lost.Count
	p.output.dropped("go_stop", "buffer_full", b.Lost.Count)
	now := p.Clock.Now()
	mark, unseen := v.cover.Take(now)
	for _, s := range unseen {
		p.unseen = coverage.Append(p.unseen, s)
	}
	if p.mark, p.covered = mark, v.cover.Coverage; v.open != 0 {
		p.mark = min(mark, v.open) // the pauses come with the record
	}
	if now.Sub(p.status) >= statusEvery {
		p.report(now, false)
	}
}

// tellGo exports collections.
func (p *process) tellGo(all []gc.Collection) {
	for i := range all {
		c := &all[i]
		for _, pause := range c.Pauses {
			p.summary.SuspendTotal += int64(pause.Suspend.Or(0))
		}
		p.usual.Fill(c, p.host.during)
		p.summary.collection(c)
		p.collection(c)
	}
}

// await notes since when there are pauses whose collection has not come with a batch, nor
// before.
func (v *goView) await(b *source.Batch) {
	if v.traced {
		if v.open = 0; len(v.pending) > 0 {
			v.open = v.pending[0].Start
		}
		return
	}
	last := uint64(0)
	for i := range b.Collections {
		last = b.Collections[i].Index
	}
	if last >= v.ref {
		v.open = 0
	}
	for i := range b.Intervals {
		if s := &b.Intervals[i]; v.open == 0 && s.Cause == stall.GCPause && s.Ref > last {
			v.open, v.ref = s.Start, s.Ref
		}
	}
}

// goStop takes in a stop. The pauses of collections are exported with them.
func (p *process) goStop(s *stall.Interval, reason string) {
	if s.Start < p.reported {
		p.summary.Late++
	}
	if s.Cause == stall.GCPause {
		p.summary.paused(s.Duration())
		return
	}
	p.summary.suspended(s.Duration())
	p.output.telemetry.Suspension(*s, reason, "", stall.Exact)
	p.recorder.suspension(recording.Suspension{Span: s.Span(), EndMax: s.End, Reason: reason})
}
