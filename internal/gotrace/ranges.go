package gotrace

import "github.com/otelgc/otelgc/stall"

// RangeKind says what a goroutine did for the collector.
type RangeKind uint8

const (
	Assist RangeKind = iota // it marked, or was parked for credit
	Sweep                   // it swept before it could allocate
)

// String returns "assist" or "sweep".
func (k RangeKind) String() string {
	if k == Sweep {
		return "sweep"
	}
	return "assist"
}

// Range is one mark assist or one sweep.
type Range struct {
	stall.Span
	Goroutine uint64 // 0 for a sweep without a goroutine
	Kind      RangeKind
	// Cut means that the range goes on: the generation ended within it, and
	// the next one's first part begins where this one ends.
	Cut bool
}

// openSweep is a sweep that has begun. A sweep is not preempted: it stays on
// its thread.
type openSweep struct {
	open  bool
	begin moment
	g     uint64
}

type doneSweep struct {
	openSweep
	end ticks
}

func (d *decoder) sweepBegin(t *thread, at ticks) {
	if t.sweep.open {
		d.lost.Unmatched++
	}
	t.sweep = openSweep{open: true, begin: moment{at: at}, g: t.g}
}

// sweepActive takes the word of a generation's start that a sweep is on.
func (d *decoder) sweepActive(t *thread, at ticks) {
	if !t.sweep.open {
		d.sweepBegin(t, at)
	}
}

func (d *decoder) sweepEnd(t *thread, at ticks) {
	if !t.sweep.open {
		d.lost.Unmatched++
		return
	}
	t.sweep.open = false
	if len(d.sweeps) < d.limits.Records {
		d.sweeps = append(d.sweeps, doneSweep{t.sweep, at})
	} else {
		d.lost.Ranges++
	}
}

func (d *decoder) resolveSweeps(g *Generation) {
	for i := range d.sweeps {
		s := &d.sweeps[i]
		g.Ranges = append(g.Ranges, Range{
			Span:      s.begin.until(s.end, &d.clock),
			Goroutine: s.g, Kind: Sweep,
		})
	}
}

// carrySweep reports the part of an open sweep that lies before the end of the
// generation, and keeps the rest.
func (d *decoder) carrySweep(t *thread, g *Generation) {
	if !t.sweep.open {
		return
	}
	start := t.sweep.begin.instant(&d.clock)
	if start < g.End {
		g.Ranges = append(g.Ranges, Range{Span: stall.Span{Start: start, End: g.End}, Goroutine: t.sweep.g, Kind: Sweep, Cut: true})
	}
	t.sweep.begin = moment{since: max(start, g.End), older: true}
}
