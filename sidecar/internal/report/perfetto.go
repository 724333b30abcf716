package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/sidecar/internal/perfetto"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// WritePerfetto writes the collections and stops as a trace for Perfetto: for each process
// a track of its collections, one of the stops of its world, one of the time that the file
// does not have, and the size of its heap; of a recording also the longest gaps of its
// probes, of a captured request who had its time, and of a Go trace the slowest requests.
func (r *Report) WritePerfetto(to io.Writer) error {
	w := perfetto.NewWriter(to)
	parts := r.parts()
	if r.Experiment != nil {
		for _, t := range r.Experiment.Targets {
			if parts[t.ID] == nil {
				parts[t.ID] = r.only(t.ID)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		parts[id].writeProcess(w, r.processName(id, parts[id]))
	}
	if r.Experiment != nil {
		r.Experiment.writeGaps(w)
	}
	return w.Close()
}

func (r *Report) processName(id int, part *Report) string {
	if r.Experiment != nil {
		if t := r.Experiment.target(id); t != nil {
			return textfmt.Printable(cmp.Or(t.Name, t.Runtime))
		}
	}
	return textfmt.Printable(cmp.Or(part.Source.Command, r.name()))
}

// slice is a stretch of a track.
type slice struct {
	stall.Span
	name string
	args []perfetto.Arg
}

// writeSlices writes slices to as many tracks of a name as they need not to overlap.
func writeSlices(w *perfetto.Writer, process perfetto.Track, name string, list []slice) {
	slices.SortStableFunc(list, func(a, b slice) int { return cmp.Compare(a.Start, b.Start) })
	var tracks []perfetto.Track
	var ends []stall.Instant
	for _, s := range list {
		i := slices.IndexFunc(ends, func(end stall.Instant) bool { return end <= s.Start })
		if i < 0 {
			i = len(tracks)
			title := name
			if i > 0 {
				title = fmt.Sprintf("%s (%d)", name, i+1)
			}
			tracks, ends = append(tracks, w.Track(process, title)), append(ends, 0)
		}
		ends[i] = max(s.Start, s.End)
		w.Slice(tracks[i], s.Span, textfmt.Printable(s.name), s.args...)
	}
}

func (r *Report) writeProcess(w *perfetto.Writer, name string) {
	process := w.Process(r.Source.PID, name)
	r.writeRequest(w, process)
	r.writeRequests(w, process)
	var collections, stops, missing []slice
	for _, c := range r.Collections {
		collections = append(collections, c.slice())
		for _, p := range c.Pauses {
			s := slice{stall.Span{Start: p.Start, End: p.End}, "GC pause", []perfetto.Arg{{Name: "collection", Value: int64(c.Index)}, {Name: "phase", Value: p.Phase.String()}}}
			if d, ok := p.Suspend.Get(); ok {
				s.args = append(s.args, perfetto.Arg{Name: "until_stopped_ns", Value: int64(d)})
			}
			stops = append(stops, s)
		}
	}
	for i := range r.Suspensions {
		s := &r.Suspensions[i]
		stops = append(stops, slice{s.Span, cmp.Or(s.Reason, "reason unknown"), []perfetto.Arg{{Name: "caller", Value: textfmt.Printable(s.Caller)}}})
	}
	for _, h := range r.Incomplete {
		if h.Start > 0 && h.End > h.Start {
			missing = append(missing, slice{stall.Span{Start: h.Start, End: h.End}, h.Why, nil})
		}
	}
	writeSlices(w, process, "collections", collections)
	writeSlices(w, process, "stops of the world", stops)
	writeSlices(w, process, "not in the file", missing)
	r.writeHeap(w, process)
}

// writtenRequests bounds the requests of a Go trace that are written, the slowest of them.
const writtenRequests = 1000

// writeRequests writes the slowest requests that package otelgc marked in a Go trace, and
// what their goroutines did for the collector meanwhile.
func (r *Report) writeRequests(w *perfetto.Writer, process perfetto.Track) {
	var requests, work []slice
	for _, q := range r.slowest[max(0, len(r.slowest)-writtenRequests):] {
		args := []perfetto.Arg{{Name: "goroutine", Value: int64(q.goroutine)}, {Name: "gc_ns_at_most", Value: int64(q.gc)}, {Name: "collections", Value: int64(q.collections)}}
		requests = append(requests, slice{q.Span, "request", args})
		from, _ := slices.BinarySearchFunc(r.assists, q.goroutine, func(v gotrace.Range, id uint64) int { return cmp.Compare(v.Goroutine, id) })
		for _, v := range r.assists[from:] {
			if v.Goroutine != q.goroutine || v.Start >= q.End {
				break
			}
			if s := v.Span.Clip(q.Span); !s.Empty() {
				name := "GC assist"
				if v.Kind == gotrace.Sweep {
					name = "GC sweep"
				}
				work = append(work, slice{s, name, args[:1]})
			}
		}
	}
	writeSlices(w, process, "requests", requests)
	writeSlices(w, process, "what they did for the collector", work)
}

// slice returns a collection from its begin to its end, as far as they are known.
func (c *Collection) slice() slice {
	start, _, _ := pausesIn(&c.Collection)
	start = c.Start.Or(start)
	s := slice{Span: stall.Span{Start: start, End: max(start, c.End.Or(c.restart()))}, name: fmt.Sprintf("GC %d", cmp.Or(c.Index, uint64(c.number)))}
	add := func(name string, value any) { s.args = append(s.args, perfetto.Arg{Name: name, Value: value}) }
	add("kind", c.Kind.String())
	add("trigger", textfmt.Printable(string(c.Trigger)))
	add("pause_ns", int64(c.PauseTotal()))
	if g, ok := c.Generation.Get(); ok {
		add("generation", int64(g))
	}
	for _, b := range []struct {
		name string
		size gc.Maybe[gc.Bytes]
	}{{"heap_before", c.HeapBefore}, {"heap_after", c.HeapAfter}, {"promoted", c.Promoted}} {
		if n, ok := b.size.Get(); ok {
			add(b.name, int64(n))
		}
	}
	if c.Incomplete != "" {
		add("incomplete", textfmt.Printable(c.Incomplete))
	}
	return s
}

// writeHeap writes the size of the heap, where it is known.
func (r *Report) writeHeap(w *perfetto.Writer, process perfetto.Track) {
	heaps := r.heaps()
	if len(heaps) == 0 {
		return
	}
	track := w.Bytes(process, "heap")
	starts := map[string]stall.Instant{}
	for _, c := range r.Collections {
		s := c.slice()
		starts[s.name] = s.Start
	}
	for _, h := range heaps {
		w.Count(track, starts[h.Name], int64(h.Before))
		w.Count(track, max(h.At, starts[h.Name]), int64(h.After))
	}
}

// writeGaps writes the longest gaps of each probe.
func (x *Experiment) writeGaps(w *perfetto.Writer) {
	if len(x.Probes) == 0 {
		return
	}
	machine := w.Track(0, "machine")
	for _, p := range x.Probes {
		var list []slice
		for _, g := range p.Gaps.Longest {
			list = append(list, slice{g.Span, g.Cause.String(), []perfetto.Arg{{Name: "scope", Value: g.Scope.String()}, {Name: "evidence", Value: g.Evidence}}})
		}
		name := "longest gaps, " + p.Mode
		if p.CPU >= 0 {
			name += fmt.Sprintf(" on CPU %d", p.CPU)
		}
		writeSlices(w, machine, name, list)
	}
}
