package dotnetgc

import (
	"slices"
	"strings"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// finishReady hands out the collections of which everything is there.
func (m *Model) finishReady() {
	for i := 0; i < len(m.open); {
		if c := m.open[i]; c.written() && c.stopsOver() && c.lacks() == "" {
			m.finish(c) // takes it out
		} else {
			i++
		}
	}
}

// written reports whether all events but those of the stops are there. It is asked
// after every event, before what is missing is put in words.
func (c *collection) written() bool {
	return c.end != 0 && c.stats != nil && c.whole()
}

// lacks says what is missing of a collection; empty if nothing is.
func (c *collection) lacks() string {
	var parts []string
	lack := func(missing bool, what string) {
		if missing {
			parts = append(parts, what)
		}
	}
	lack(c.end == 0, "GCEnd")
	lack(c.stats == nil, "GCHeapStats")
	lack(c.global == nil, "GCGlobalHeapHistory")
	lack(c.global != nil && !c.whole(), "GCPerHeapHistory")
	switch {
	case len(c.stops) == 0:
		parts = append(parts, "its stop")
	case c.global != nil && c.global.mechanisms&mechanismConcurrent != 0 && len(c.stops) < 2:
		parts = append(parts, "a stop")
	}
	lack(slices.ContainsFunc(c.stops, func(s *openStop) bool { return s.Incomplete != "" }), "the end of a stop")
	lack(c.tooMany, "its later stops: they are too many")
	return strings.Join(parts, ", ")
}

// finish hands out a collection with what there is.
func (m *Model) finish(c *collection) {
	m.open = slices.DeleteFunc(m.open, func(o *collection) bool { return o == c })
	for _, o := range m.open {
		o.overlapped = true
	}
	if c.end == 0 {
		m.hole(c.start, m.now, "the end of collection "+utoa(c.number)+" was not seen")
	}
	record := Collection{Collection: c.record(), Reason: c.reason, Type: c.typ}
	for _, s := range c.stops {
		record.Stops = append(record.Stops, s.Stop)
	}
	if c.global != nil {
		record.Heaps, record.PauseMode = c.global.heaps, c.global.pauseMode
	}
	m.share(&record.Collection)
	m.allocated(c, &record.Collection)
	m.handOutCollection(record)
	c.stops = nil // a stop may keep c, which must not keep all those before it
}

// record puts a collection in the project's terms.
func (c *collection) record() gc.Collection {
	r := gc.Collection{
		Index: c.number, Cycles: 1, Kind: c.kind(), Generation: c.generation(),
		Trigger: gc.Trigger(c.reason.String()), Start: gc.Known(c.start), Pauses: c.pauses(),
		Incomplete: c.incomplete(), Origin: stall.Dotnet, Fidelity: stall.Exact,
	}
	if c.end != 0 {
		r.End = gc.Known(c.end)
	}
	if c.global != nil {
		r.Compacting = gc.Known(c.global.mechanisms&mechanismCompaction != 0)
		r.Concurrent = gc.Known(c.global.mechanisms&mechanismConcurrent != 0)
		r.MemoryLoad = c.global.memoryLoad
	}
	if c.stats != nil {
		r.Pinned, r.Finalizable = gc.Known(uint64(c.stats.pinned)), gc.Known(c.stats.finalizable)
	}
	c.sizes(&r)
	return r
}

func (c *collection) incomplete() string {
	switch lack := c.lacks(); {
	case lack != "":
		return "not seen: " + lack
	case c.lossy:
		return "events were lost while it ran"
	}
	return ""
}

// kind says how it ran, which is not always what GCStart announced.
func (c *collection) kind() gc.Kind {
	if g, known := c.generation().Get(); known && g < int(gc.Gen2) {
		return gc.Ephemeral
	}
	if c.global != nil && c.global.mechanisms&mechanismConcurrent != 0 || c.global == nil && c.ranBeside() {
		return gc.Background
	}
	return gc.FullBlocking
}

// generation prefers what was condemned in the end.
func (c *collection) generation() gc.Maybe[int] {
	if c.global != nil && !c.global.condemned.IsZero() {
		return c.global.condemned
	}
	if !c.depth.IsZero() {
		return c.depth
	}
	return c.endDepth
}

// share sets the share of time that was paused so far.
func (m *Model) share(r *gc.Collection) {
	if elapsed := m.pausedUntil.Sub(m.options.Since); elapsed > 0 && m.paused <= elapsed {
		r.PauseUtilization = gc.Known(float64(m.paused) / float64(elapsed))
		if !m.options.FromStart {
			r.UtilizationSince = gc.Known(m.options.Since)
		}
	}
}
