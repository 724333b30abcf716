package report

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/recording"
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
	h := stream.Header()
	start := h.Frequency.Instant(h.SyncTicks)
	r.Summary = &Summary{}
	r.Source = Source{
		File: r.Source.File, Format: fmt.Sprintf("nettrace %d", h.Version), Runtime: "dotnet",
		Clock: clockFile, Tick: uint64(h.Frequency), Span: stall.Span{Start: start, End: start},
		PID: h.PID, CPUs: h.Processors, PointerSize: h.PointerSize, dotnet: true,
	}
	r.Source.recorded(h.SyncTime)
	b := dotnetBuilder{Report: r, clock: h.Frequency, model: dotnetgc.NewModel(h, dotnetgc.Options{})}
	for {
		e, err := stream.Next()
		if err != nil {
			if err == io.EOF {
				r.endsAt = stream.Offset()
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

func (b *dotnetBuilder) learn(e *nettrace.Event) {
	if b.Source.PID == 0 {
		b.Source.PID = e.PID // format 6 need not say it in its header
	}
	if e.PID != 0 && e.PID != b.Source.PID {
		b.others++
		return
	}
	b.events++
	b.Source.End = max(b.Source.End, b.clock.Instant(e.Ticks))
	b.Source.learn(e)
	b.model.Add(e)
	b.take()
}

// take records what became known.
func (b *dotnetBuilder) take() {
	out := b.model.Take()
	for i := range out.Collections {
		c := &out.Collections[i]
		record := &Collection{Collection: c.Collection, announced: c.Type.String()}
		if d, ok := c.TraceEventPause(); ok {
			record.perfView = gc.Known(d)
		}
		b.addCollection(record)
		b.incomplete(&c.Collection)
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
	b.addSuspension(recording.Suspension{
		Span: stall.Span{Start: s.Start(), End: s.RestartBegin}, EndMax: max(s.RestartBegin, s.RestartEnd), Reason: s.Reason.String(),
	})
}

// monotonicHz is the frequency of the clock where it is CLOCK_MONOTONIC. That
// of Windows, the performance counter, is 10 MHz on all machines of today.
const monotonicHz = 1e9

// end closes the report with what the stream ended by.
func (b *dotnetBuilder) end(stats nettrace.Stats, err error) error {
	b.model.Close()
	b.take()
	slices.SortStableFunc(b.Collections, func(x, y *Collection) int { return cmp.Compare(x.Index, y.Index) })
	slices.SortStableFunc(b.Suspensions, func(x, y recording.Suspension) int { return cmp.Compare(x.Start, y.Start) })
	b.sayStats(stats, b.model.Stats())
	if b.clock == monotonicHz && (b.Source.OS == "" || b.Source.OS == "Linux") {
		b.Source.Clock, b.Source.ifLinux = clockMonotonic, b.Source.OS == ""
	}
	if b.events == 0 && err != io.EOF {
		return fmt.Errorf("%w: no event is whole before it: record it anew", err)
	}
	return b.close(err, "the file is cut off, as by a killed process")
}

// sayStats names what could not be used.
func (b *dotnetBuilder) sayStats(stream nettrace.Stats, model dotnetgc.Stats) {
	b.missing(b.others, "event", fmt.Sprintf("of other processes than %d, left out", b.Source.PID))
	b.missing(stream.Untyped, "event", "of a type that the file does not define")
	b.missing(stream.Late, "event", "after an event of a later time: what is before and after may be confused")
	b.missing(model.Malformed, "event", "of the garbage collector that are too short, or say what cannot be")
	b.missing(model.Dropped, "event", "of collections given up, since too many were open")
}

// The events in which a process says what it is. Both come with a file that
// dotnet-trace or DOTNET_EnableEventPipe wrote, and need not be in others.
const (
	providerEventPipe = "Microsoft-DotNETCore-EventPipe"
	eventProcessInfo  = "ProcessInfo" // CommandLine, OSInformation, ArchInformation

	providerRuntime  = "Microsoft-Windows-DotNETRuntime"
	providerRundown  = "Microsoft-Windows-DotNETRuntimeRundown"
	idRuntimeStart   = 187 // RuntimeInformationStart: u16 ClrInstanceID, Sku, then 4 x u16 of the base class library's version
	runtimeStartHead = 12
)

// learn takes what e says of the process.
func (s *Source) learn(e *nettrace.Event) {
	switch {
	case e.Provider == providerEventPipe && e.Name == eventProcessInfo:
		rest := e.Payload
		s.Command, rest = text16(rest)
		s.OS, rest = text16(rest)
		s.Arch, _ = text16(rest)
	case e.ID == idRuntimeStart && (e.Provider == providerRuntime || e.Provider == providerRundown) && len(e.Payload) >= runtimeStartHead:
		u16 := func(at int) uint16 { return binary.LittleEndian.Uint16(e.Payload[at:]) }
		s.Runtime = fmt.Sprintf("dotnet %d.%d.%d", u16(4), u16(6), u16(8))
	}
}

// maxText bounds a text of the file that is kept.
const maxText = 1 << 10

// text16 takes a UTF-16 text that ends with a zero, cut to maxText.
func text16(b []byte) (text string, rest []byte) {
	var units []uint16
	for len(b) >= 2 {
		u := binary.LittleEndian.Uint16(b)
		b = b[2:]
		if u == 0 {
			break
		}
		if len(units) < maxText {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units)), b
}
