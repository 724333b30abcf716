package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// readGo reads a Go execution trace.
func readGo(r *Report, in io.Reader, _ Options) error {
	r.Source.Runtime, r.Source.Clock = "go", clockFile
	trace, err := gotrace.NewReader(in, gotrace.Options{MarkPrefix: gotrace.WindowMarks, NoTracks: true})
	switch {
	case errors.Is(err, gotrace.ErrVersion):
		return fmt.Errorf("%w: record with one of these, or use a newer otelgc-sidecar", err)
	case err != nil:
		return fmt.Errorf("%w: record it anew", err)
	}
	r.Summary = &Summary{Assist: &Effort{}, Sweep: &Effort{}}
	b := goBuilder{Report: r, parts: make(map[uint64]time.Duration)}
	for {
		g, err := trace.Next()
		if g == nil {
			return b.end(err)
		}
		b.learn(g)
	}
}

// goBuilder makes a report of generations.
type goBuilder struct {
	*Report
	any     bool
	pauses  int                      // of all collections
	stops   []gc.Pause               // of the collection that has not ended
	cpu     gc.CPU                   // of the workers in it
	parts   map[uint64]time.Duration // assists that go on, by goroutine
	log     requestLog
	running *gotrace.Cycle // that had not ended when the last generation did
	cycle   gotrace.Cycle  // the memory of running
}

func (b *goBuilder) learn(g *gotrace.Generation) {
	if !b.any {
		b.any, b.Source.Start = true, g.Start
		b.Source.Format, b.Source.Runtime = goVersion(g.Version)
		b.Source.Clock, b.Source.ifLinux = clockMonotonic, true
	}
	if !g.Shared {
		b.Source.Clock = clockFile
	}
	b.learnLost(g)
	cycles, workers := g.Cycles, g.Workers
	if g.Lost.Generations > 0 {
		// The collection that ran into the hole has what there was before it.
		if len(cycles) > 0 && cycles[0].Partial {
			b.collect(&cycles[0])
			cycles = cycles[1:]
		}
		b.stops, b.cpu = b.stops[:0], gc.CPU{}
		clear(b.parts)
	}
	b.Source.End = g.End
	for stop, c := range gotrace.InOrder(g.Stops, cycles) {
		if c == nil {
			b.learnStop(stop)
			continue
		}
		workers = b.learnWorkers(workers, c.End)
		b.collect(c)
	}
	b.learnWorkers(workers, g.End)
	b.learnRanges(g.Ranges)
	b.log.learn(g)
	if b.running = nil; g.Running != nil {
		b.cycle = *g.Running
		b.running = &b.cycle
	}
}

func (b *goBuilder) learnStop(s *gotrace.Stop) {
	switch {
	case !s.GC:
		b.addSuspension(recording.Suspension{Span: stall.Span{Start: s.Start, End: s.Over()}, EndMax: s.End, Reason: s.Reason, Caller: s.Via()})
	case b.pauses == MaxPauses:
		b.left.pauses++
	default:
		b.pauses++
		b.stops = append(b.stops, s.Pause())
	}
}

// learnWorkers adds up the workers that began before end, and returns the
// others. The runtime's own classes are made of the same: the wall time that
// workers held a P, fractional ones counted as dedicated.
func (b *goBuilder) learnWorkers(workers []gotrace.Worker, end stall.Instant) []gotrace.Worker {
	n := 0
	for ; n < len(workers) && workers[n].Start < end; n++ {
		class := &b.cpu.Dedicated
		if workers[n].Kind == gotrace.Idle {
			class = &b.cpu.Idle
		}
		*class = gc.Known(class.Or(0) + workers[n].Duration())
	}
	return workers[n:]
}

func (b *goBuilder) learnRanges(ranges []gotrace.Range) {
	for i := range ranges {
		r := &ranges[i]
		if r.Kind == gotrace.Sweep {
			b.Summary.Sweep.add(r.Duration(), !r.Cut)
			continue
		}
		whole := b.parts[r.Goroutine] + r.Duration()
		if r.Cut {
			b.parts[r.Goroutine] = whole
			continue
		}
		delete(b.parts, r.Goroutine)
		b.Summary.Assist.add(whole, true)
	}
}

// learnLost names what a generation lacks.
func (b *goBuilder) learnLost(g *gotrace.Generation) {
	l := &g.Lost
	if l.Generations > 0 {
		b.addHole(Hole{b.Source.End, g.Start, textfmt.Many(l.Generations, "generation") + " missing"})
	}
	for _, lost := range []struct {
		n    uint64
		what string
	}{
		{l.Stops, "stops"}, {l.Handoffs, "restarts within stops"}, {l.Cycles, "ends of collections"}, {l.Ranges, "assists and sweeps"},
		{l.Workers, "turns of GC workers"}, {l.Samples, "heap sizes"},
		{l.Strings, "reasons"}, {l.Stacks, "callers"},
	} {
		if lost.n > 0 {
			b.addHole(Hole{g.Start, g.End, textfmt.Sprintf("%s: %s lost over a limit of the decoder", lost.what, lost.n)})
		}
	}
}

// collect records c with all stops since the collection before it.
func (b *goBuilder) collect(c *gotrace.Cycle) {
	x, whole := c.Collection(b.stops)
	switch {
	case c.BeginUnknown:
		b.addHole(Hole{b.Source.Start, c.End, "the trace began within this collection: its begin, and perhaps a pause, are not in it"})
	case c.Partial:
		b.addHole(Hole{c.Begin, 0, "the end of this collection was not seen, nor perhaps a pause"})
	case !whole:
		b.addHole(Hole{c.Begin, c.End, "not every pause of this collection is in the trace"})
	}
	x.CPU = b.cpu
	b.addCollection(&Collection{Collection: x})
	b.stops, b.cpu = b.stops[:0], gc.CPU{}
}

// end closes the report with what the stream ended by.
func (b *goBuilder) end(err error) error {
	if !b.any {
		if err == io.EOF {
			err = errors.New("the trace holds nothing")
		}
		return fmt.Errorf("%w: nothing is whole before it: record for some seconds more, and stop the trace", err)
	}
	if b.running != nil {
		b.running.Partial = true
		b.collect(b.running)
	}
	for _, p := range b.stops {
		b.addSuspension(recording.Suspension{
			Span:   stall.Span{Start: p.Start, End: p.End},
			Reason: "GC " + p.Phase.String() + ", of no collection in the trace",
		})
	}
	b.slowest = b.log.settle(b.Report)
	b.assists = b.log.ranges
	b.Summary.Requests = latenciesOf(b.slowest)
	b.missing(b.log.left, "request or assist", "more than a report holds")
	return b.close(err, "the file is cut off")
}

// goVersion names the format and the runtime that writes it.
func goVersion(version int) (format, runtime string) {
	format, runtime = fmt.Sprintf("go 1.%d trace", version), fmt.Sprintf("go1.%d", version)
	if version == 23 {
		runtime = "go1.23 or go1.24"
	}
	return format, runtime
}
