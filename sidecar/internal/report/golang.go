package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// traceTick is the resolution of a Go trace's clock on most platforms: an event
// may be stamped up to that much before it was (runtime/traceruntime.go,
// traceTimeDiv).
const traceTick = 64 * time.Nanosecond

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
	b := goBuilder{Report: r, parts: make(map[uint64]time.Duration)}
	for {
		g, err := trace.Next()
		if err == io.EOF {
			err = nil
		}
		if g == nil {
			return b.end(err)
		}
		b.learn(g)
	}
}

// The clocks that a file's instants can be of.
const (
	clockMonotonic = "CLOCK_MONOTONIC"
	clockFile      = "file" // the file's own, of which nothing more is known
)

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
		b.any, b.Start = true, g.Start
		b.Source.Format, b.Source.Runtime = goVersion(g.Version)
		if g.Shared {
			b.Source.Clock = clockMonotonic
		}
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
	b.End = g.End
	stops := g.Stops
	for i := range cycles {
		n := 0
		for n < len(stops) && stops[n].Start <= cycles[i].End {
			n++
		}
		b.learnStops(stops[:n])
		stops = stops[n:]
		workers = b.learnWorkers(workers, cycles[i].End)
		b.collect(&cycles[i])
	}
	b.learnStops(stops)
	b.learnWorkers(workers, g.End)
	b.learnRanges(g.Ranges)
	b.log.learn(g)
	if b.running = nil; g.Running != nil {
		b.cycle = *g.Running
		b.running = &b.cycle
	}
}

func (b *goBuilder) learnStops(stops []gotrace.Stop) {
	for i := range stops {
		s := &stops[i]
		if !s.GC {
			b.addSuspension(Suspension{Span: stall.Span{Start: s.Start, End: s.Over()}, EndMax: s.End, Reason: s.Reason, Caller: callerOf(s)})
			continue
		}
		if b.pauses == MaxPauses {
			b.Left.Pauses++
			continue
		}
		b.pauses++
		b.stops = append(b.stops, gc.Pause{Start: s.Start, End: s.Over(), EndMax: s.End, Phase: s.Phase, Slack: traceTick})
	}
}

// collect records c with all stops since the collection before it: there can be
// more than two, since mark termination may have been retried.
func (b *goBuilder) collect(c *gotrace.Cycle) {
	n := len(b.stops)
	whole := n >= 2 && b.stops[0].Phase == gc.SweepTermination && b.stops[n-1].Phase == gc.MarkTermination
	switch {
	case c.BeginUnknown:
		b.addHole(Hole{b.Start, c.End, "the trace began within this collection: its begin, and perhaps a pause, are not in it"})
	case c.Partial:
		b.addHole(Hole{c.Begin, 0, "the end of this collection was not seen, nor perhaps a pause"})
	case !whole:
		b.addHole(Hole{c.Begin, c.End, "not every pause of this collection is in the trace"})
	}
	record := gc.Collection{
		Cycles: 1, Kind: gc.Background, Trigger: c.Trigger, TriggerSite: c.TriggerSite,
		Start: known(c.Begin), End: known(c.End), Pauses: append([]gc.Pause(nil), b.stops...),
		HeapBefore: c.HeapBefore, HeapAfter: c.HeapAfter, Promoted: c.HeapAfter, Goal: c.Goal,
		CPU: b.cpu, Origin: stall.GoTrace, Fidelity: stall.Exact,
	}
	b.addCollection(Collection{Collection: record})
	b.stops, b.cpu = b.stops[:0], gc.CPU{}
}

func known(t stall.Instant) gc.Maybe[stall.Instant] {
	if t == 0 {
		return gc.Maybe[stall.Instant]{}
	}
	return gc.Known(t)
}

// end closes the report with what the stream ended by, nil for a clean end.
func (b *goBuilder) end(err error) error {
	if !b.any {
		if err == nil {
			err = errors.New("the trace holds nothing")
		}
		return fmt.Errorf("%w: nothing is whole before it: record for some seconds more, and stop the trace", err)
	}
	if b.running != nil {
		b.running.Partial = true
		b.collect(b.running)
	}
	for _, p := range b.stops {
		b.addSuspension(Suspension{
			Span:   stall.Span{Start: p.Start, End: p.End},
			Reason: "GC " + p.Phase.String() + ", of no collection in the trace",
		})
	}
	b.Requests = latenciesOf(b.log.settle(b.Report))
	if b.log.left > 0 {
		b.addHole(Hole{Why: textfmt.Many(b.log.left, "request or assist") + " more than a report holds"})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		b.addHole(Hole{b.End, 0, err.Error() + ": the file is cut off"})
		return nil
	}
	b.addHole(Hole{b.End, 0, err.Error()})
	return &Damaged{fmt.Errorf("%w: what was whole before it is reported", err)}
}

// goVersion names the format and the runtime that writes it.
func goVersion(version int) (format, runtime string) {
	format = fmt.Sprintf("go 1.%d trace", version)
	if version == 23 {
		return format, "go1.23 or go1.24"
	}
	return format, fmt.Sprintf("go1.%d", version)
}
