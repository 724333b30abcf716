package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// keptPauses is how many of the longest pauses of a minute are kept of a process.
	keptPauses = 3
	// maxAround bounds the stops around a pause that are kept for its strip.
	maxAround = 16
	// around is how much of the time before and after a pause its strip shows, in lengths
	// of the pause, if its collection is not longer.
	around = 5
)

// process is what was seen of one run of a process.
type process struct {
	target.Progress
	target recording.Target
	told   stall.Instant // when the progress was
	ended  stall.Instant // 0 if it has not

	pauses  recent[strip.Pause]
	heaps   recent[strip.Heap]
	longest worst[pause]
	last    []stall.Interval // stops, maxAround at most, as they became known

	shown []pause // of a copy: the longest, the longest first
}

// copy returns what is shown of a process; its drawings only if they are asked for.
func (p *process) copy(now stall.Instant, drawings bool) *process {
	c := &process{Progress: p.Progress, target: p.target, told: p.told, ended: p.ended}
	for _, v := range p.longest.longest(now) {
		c.shown = append(c.shown, *v)
	}
	if drawings {
		c.pauses.slots, c.heaps.slots = slices.Clone(p.pauses.slots), slices.Clone(p.heaps.slots)
	}
	return c
}

// pause is a stop of a process.
type pause struct {
	stall.Interval
	name, why         string
	cpuWait, pageWait gc.Maybe[time.Duration]
	collection        *strip.Collection // nil for none
	around            []stall.Interval  // other stops of its time
	cut               bool              // there were more
}

func newProcess() *process { return &process{longest: worst[pause]{each: keptPauses}} }

// name is what a process is called, printable.
func (p *process) name() string {
	return printable(cmp.Or(p.Service, p.target.Name, "unknown"), maxName)
}

func (p *process) collection(c *gc.Collection) {
	name := "a collection that was not seen to begin"
	if c.Index > 0 {
		name = fmt.Sprintf("GC %d, %s", c.Index, strings.ReplaceAll(c.Kind.String(), "_", " "))
		if n, known := c.Generation.Get(); known {
			name += fmt.Sprintf(", generation %d", n)
		}
	}
	own := &strip.Collection{Index: c.Index, Span: c.Extent()}
	for i := range c.Pauses {
		own.Pauses = append(own.Pauses, stall.Span{Start: c.Pauses[i].Start, End: c.Pauses[i].End})
	}
	for i := range c.Pauses {
		v := &c.Pauses[i]
		p.stop(pause{
			Interval: stall.Interval{Start: v.Start, End: v.End, Cause: stall.GCPause, Ref: c.Index}, name: name, why: printable(string(c.Trigger), maxName),
			cpuWait: v.HostDuring.CPUWait, pageWait: v.HostDuring.PageWait, collection: own,
		})
	}
	before, known := c.HeapBefore.Get()
	after, both := c.HeapAfter.Get()
	if end, over := c.End.Get(); known && both && over {
		p.heaps.add(end, int64(min(before, 1<<62)), strip.Heap{At: end, Name: name, Before: uint64(before), After: uint64(after)})
	}
}

func (p *process) suspension(s *recording.Suspension) {
	p.stop(pause{Interval: stall.Interval{Start: s.Start, End: s.End, Cause: stall.RuntimeSuspension}, name: "no collection", why: printable(s.Reason, maxName)})
}

// stop takes in a stop, and gives it to the strips that it lies in.
func (p *process) stop(v pause) {
	name := v.name
	if v.collection == nil {
		name = v.why
	}
	p.pauses.add(v.Start, int64(v.Duration()), strip.Pause{Span: v.Span(), Name: name, GC: v.collection != nil})
	for i := range p.longest.kept {
		for _, k := range p.longest.kept[i].list {
			k.v.add(v.Interval)
		}
	}
	if mine := p.longest.add(v.End, v.Duration(), v); mine != nil {
		for _, other := range p.last {
			mine.add(other)
		}
		if s := mine.window(); len(p.last) == maxAround && p.last[0].Start > s.Start {
			mine.cut = true
		}
	}
	if len(p.last) == maxAround {
		p.last = slices.Delete(p.last, 0, 1)
	}
	p.last = append(p.last, v.Interval)
}

// window is the time that the strip of a pause shows.
func (v *pause) window() stall.Span {
	d := max(v.Duration(), 1)
	s := stall.Span{Start: v.Start.Add(-around * d), End: v.End.Add(around * d)}
	if c := v.collection; c != nil && c.Span.Duration() < 2*around*d {
		s.Start, s.End = min(s.Start, c.Span.Start), max(s.End, c.Span.End)
	}
	return s
}

// add keeps another stop if it lies in the window.
func (v *pause) add(other stall.Interval) {
	switch {
	case other.Span().Clip(v.window()).Empty():
	case len(v.around) == maxAround:
		v.cut = true
	default:
		v.around = append(v.around, other)
	}
}

// strip returns a pause with what was around it, for drawing.
func (v *pause) strip(n int, now stall.Instant) *strip.Request {
	s := v.window()
	stops := append(slices.Clone(v.around), v.Interval)
	slices.SortFunc(stops, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	out := &strip.Request{
		Name:  fmt.Sprintf("Pause %d by length, %s, %s ago: %s, with what was around it", n, stall.Humane(v.Duration()), ago(now, v.End), v.name),
		Lane:  "the program",
		Stops: stops,
	}
	if v.collection != nil {
		out.Collections = []strip.Collection{*v.collection}
	}
	if v.cut {
		out.Sentence = fmt.Sprintf("There were more than the %d other stops around it that are kept.", maxAround)
	}
	at := s.Start
	add := func(to stall.Instant, p stall.Part) {
		if to = min(to, s.End); to > at {
			out.Pieces = append(out.Pieces, stall.Piece{Start: at, End: to, Part: p})
			at = to
		}
	}
	for _, v := range stops {
		add(v.Start, stall.AppOrHost)
		add(v.End, stall.Part(v.Cause))
	}
	add(s.End, stall.AppOrHost)
	return out
}

// ago writes how long ago something was, without digits that change with each look.
func ago(now, then stall.Instant) string {
	return max(0, now.Sub(then)).Truncate(time.Second).String()
}

// printable returns text of others as it may be shown, of so many characters at most.
func printable(text string, most int) string {
	text = textfmt.Printable(strings.ToValidUTF8(text, "?"))
	if list := []rune(text); len(list) > most {
		text = string(list[:most-1]) + "…"
	}
	return text
}
