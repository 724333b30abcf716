package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// readDotnet reads a nettrace file.
func readDotnet(r *Report, in io.Reader, _ Options) error {
	stream, err := nettrace.NewReader(in, nettrace.Options{Limits: nettrace.FileLimits()})
	switch {
	case errors.Is(err, nettrace.ErrVersion):
		return err // it names the mend
	case err != nil:
		return fmt.Errorf("%w: record it anew", err)
	}
	b := newDotnetBuilder(r, stream.Header())
	for {
		e, err := stream.Next()
		if err != nil {
			if err == io.EOF {
				r.ended = stream.Offset()
			}
			return b.end(stream.Stats(), err)
		}
		b.learn(e)
	}
}

// dotnetBuilder makes a report of events.
type dotnetBuilder struct {
	*Report
	clock  nettrace.Frequency
	model  *dotnetgc.Model
	events int
	others uint64 // events of other processes
}

func newDotnetBuilder(r *Report, h nettrace.Header) *dotnetBuilder {
	r.Source = Source{
		File: r.Source.File, Format: fmt.Sprintf("nettrace %d", h.Version), Runtime: "dotnet",
		Clock: clockFile, Tick: uint64(h.Frequency), Recorded: h.SyncTime,
		PID: h.PID, CPUs: h.Processors, PointerSize: h.PointerSize, dotnet: true,
	}
	r.Start = h.Frequency.Instant(h.SyncTicks)
	r.End = r.Start
	return &dotnetBuilder{Report: r, clock: h.Frequency, model: dotnetgc.NewModel(h, dotnetgc.Options{})}
}

// monotonicHz is the frequency of the clock where it is CLOCK_MONOTONIC. That
// of Windows, the performance counter, is 10 MHz on all machines of today.
const monotonicHz = 1e9

func (b *dotnetBuilder) learn(e *nettrace.Event) {
	if b.Source.PID == 0 {
		b.Source.PID = e.PID // format 6 need not say it in its header
	}
	if e.PID != 0 && e.PID != b.Source.PID {
		b.others++
		return
	}
	b.events++
	b.End = max(b.End, b.clock.Instant(e.Ticks))
	b.Source.learn(e)
	b.model.Add(e)
	b.take()
}

// take records what became known.
func (b *dotnetBuilder) take() {
	out := b.model.Take()
	for i := range out.Collections {
		c := &out.Collections[i]
		record := Collection{Collection: c.Collection, Announced: c.Type.String()}
		if d, ok := c.TraceEventPause(); ok {
			record.PerfView = gc.Known(d)
		}
		b.addCollection(record)
		if c.Incomplete != "" {
			b.addHole(Hole{c.Start.Or(0), c.End.Or(0), fmt.Sprintf("GC %d: %s", c.Index, c.Incomplete)})
		}
	}
	for i := range out.Stops {
		b.stop(&out.Stops[i])
	}
	for _, h := range out.Incomplete {
		why := h.Why
		if h.Lost > 0 {
			why = fmt.Sprintf("%s were lost: the runtime's buffers were full", textfmt.Many(h.Lost, "event"))
		}
		b.addHole(Hole{h.Start, h.End, why})
	}
}

// stop records a stop that is not a pause of a collection. One for garbage
// collection that holds none is at the edge of the file, or the collector made
// none, as where a no-GC region begins.
func (b *dotnetBuilder) stop(s *dotnetgc.Stop) {
	if s.Reason.IsGC() && len(s.Collections) > 0 {
		return
	}
	if s.RestartBegin == 0 {
		b.addHole(Hole{s.Start(), 0, fmt.Sprintf("the end of a stop (%s) was not seen", s.Reason)})
		return
	}
	b.addSuspension(Suspension{Span: stall.Span{Start: s.Start(), End: s.RestartBegin}, EndMax: max(s.RestartBegin, s.RestartEnd), Reason: s.Reason.String()})
}

// end closes the report with what the stream ended by.
func (b *dotnetBuilder) end(stats nettrace.Stats, err error) error {
	b.model.Close()
	b.take()
	slices.SortStableFunc(b.Collections, func(x, y Collection) int { return cmp.Compare(x.Index, y.Index) })
	slices.SortStableFunc(b.Suspensions, func(x, y Suspension) int { return cmp.Compare(x.Start, y.Start) })
	b.Allocations = b.model.Allocations()
	b.sayStats(stats, b.model.Stats())
	if b.clock == monotonicHz && (b.Source.OS == "" || b.Source.OS == "Linux") {
		b.Source.Clock = clockMonotonic
	}
	switch {
	case err == io.EOF:
		return nil
	case b.events == 0:
		return fmt.Errorf("%w: no event is whole before it: record it anew", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		b.addHole(Hole{b.End, 0, err.Error() + ": the file is cut off, as by a killed process"})
		return nil
	}
	b.addHole(Hole{b.End, 0, err.Error()})
	return &Damaged{fmt.Errorf("%w: what was whole before it is reported", err)}
}

// sayStats names what could not be used.
func (b *dotnetBuilder) sayStats(stream nettrace.Stats, model dotnetgc.Stats) {
	for _, s := range []struct {
		n    uint64
		what string
	}{
		{b.others, fmt.Sprintf("of other processes than %d, left out", b.Source.PID)},
		{stream.Untyped, "of a type that the file does not define"},
		{stream.Late, "after an event of a later time: what is before and after may be confused"},
		{model.Malformed, "of the garbage collector that are too short, or say what cannot be"},
		{model.Dropped, "of collections given up, since too many were open"},
	} {
		if s.n == 0 {
			continue
		}
		b.addHole(Hole{Why: textfmt.Many(s.n, "event") + " " + s.what})
	}
}

// Collection is one garbage collection of a file.
type Collection struct {
	gc.Collection
	// PerfView is the pause by TraceEvent's own rule (.NET).
	PerfView gc.Maybe[time.Duration]
	// Announced is what the runtime said that it would be, which it need not
	// have been (.NET).
	Announced string
	// Target names the process, in a recording of several; otherwise zero.
	Target int
}
