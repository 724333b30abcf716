package oracle

import (
	"bytes"
	"cmp"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// decoded is what gotrace says of one trace, its generations put together.
type decoded struct {
	stops, cycles, assists, sweeps []span
	tracks                         map[uint64][]gotrace.TrackSpan
	marks                          []mark
	tasks                          []task
	lost                           gotrace.Lost
	spans                          []stall.Span
	workers, heap                  int
}

// decode decodes data. It follows the goroutines that leave a mark, and those of
// follow from the start.
func decode(t testing.TB, data []byte, prefix string, follow iter.Seq[uint64]) (*decoded, error) {
	t.Helper()
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{MarkPrefix: prefix, Tasks: true})
	if err != nil {
		return nil, err
	}
	for g := range follow {
		r.Follow(g)
	}
	d := &decoded{tracks: map[uint64][]gotrace.TrackSpan{}}
	open := map[gotrace.RangeKind]map[uint64]span{gotrace.Assist: {}, gotrace.Sweep: {}}
	for {
		g, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		d.generation(g, open)
	}
	for kind, list := range open {
		for _, s := range list {
			d.addRange(kind, s)
		}
	}
	byStart := func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.g, b.g)) }
	slices.SortStableFunc(d.assists, byStart)
	slices.SortStableFunc(d.sweeps, byStart)
	return d, nil
}

func (d *decoded) generation(g *gotrace.Generation, open map[gotrace.RangeKind]map[uint64]span) {
	d.spans = append(d.spans, g.Span)
	if g.Lost.Any() {
		d.lost = g.Lost
	}
	d.workers += len(g.Workers)
	d.heap += len(g.Heap)
	for _, s := range g.Stops {
		d.stops = append(d.stops, span{start: int64(s.Start), end: int64(s.End), g: s.Goroutine, reason: s.Reason, caller: s.Caller, restart: int64(s.Restart)})
	}
	for _, c := range g.Cycles {
		start := c.Begin
		if c.BeginUnknown {
			start = c.Active
		}
		d.cycles = append(d.cycles, span{start: int64(start), end: int64(c.End), g: c.Goroutine, caller: c.TriggerSite})
	}
	for _, r := range g.Ranges {
		s := span{start: int64(r.Start), end: int64(r.End), g: r.Goroutine}
		if first, ok := open[r.Kind][r.Goroutine]; ok {
			s.start = first.start
			delete(open[r.Kind], r.Goroutine)
		}
		if r.Cut {
			open[r.Kind][r.Goroutine] = s
			continue
		}
		d.addRange(r.Kind, s)
	}
	for _, m := range g.Marks {
		d.marks = append(d.marks, mark{int64(m.At), m.Goroutine, m.Key})
	}
	for _, k := range g.Tasks {
		d.tasks = append(d.tasks, task{int64(k.At), k.Goroutine, k.ID, k.Parent, k.Name, k.End})
	}
	for _, tr := range g.Tracks {
		d.tracks[tr.Goroutine] = slices.AppendSeq(d.tracks[tr.Goroutine], tr.Spans)
	}
}

func (d *decoded) addRange(kind gotrace.RangeKind, s span) {
	if kind == gotrace.Assist {
		d.assists = append(d.assists, s)
	} else {
		d.sweeps = append(d.sweeps, s)
	}
}
