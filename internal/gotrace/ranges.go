package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

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

// assistEdge is one of EvGCMarkAssistBegin, Active, End. An assist belongs to
// its goroutine, which can park within it and go on on another thread, so its
// edges are put in order by the goroutine's sequence numbers.
type assistEdge struct {
	g     uint64
	at    ticks
	seq   uint32
	order uint32 // of arrival
	typ   eventType
}

// threadAssist is an assist that began on a thread and did not leave it: nearly
// all end like that, and need not be put in order.
type threadAssist struct {
	open bool
	at   ticks
}

// doneAssist began and ended on one thread.
type doneAssist struct {
	g          uint64
	begin, end ticks
}

func (d *decoder) assistBegin(t *thread, at ticks) {
	d.assistLeaves(t)
	t.assist = threadAssist{true, at}
}

func (d *decoder) assistEnd(t *thread, at ticks) {
	if !t.assist.open {
		d.assistEdge(evGCMarkAssistEnd, t.g, t.seq, at)
		return
	}
	t.assist.open = false
	if len(d.doneAssists) < d.limits.Records && t.g != 0 {
		d.doneAssists = append(d.doneAssists, doneAssist{t.g, t.assist.at, at})
	} else {
		d.lost.Ranges++
	}
}

// assistLeaves makes an edge of an assist whose goroutine leaves the thread, or
// whose generation ends.
func (d *decoder) assistLeaves(t *thread) {
	if t.assist.open {
		t.assist.open = false
		d.assistEdge(evGCMarkAssistBegin, t.g, t.seq, t.assist.at)
	}
}

// openAssist is an assist that has begun, across generations.
type openAssist struct {
	since stall.Instant
	// seen is the last generation that spoke of it. Every generation says of
	// each goroutine whether it is in an assist, so one that is silent is over.
	seen uint64
}

func (d *decoder) assistEdge(typ eventType, g uint64, seq uint32, at ticks) {
	if g == 0 {
		d.lost.Unmatched++
		return
	}
	if len(d.assists) < d.limits.Records {
		d.assists = append(d.assists, assistEdge{g, at, seq, uint32(len(d.assists)), typ})
	} else {
		d.lost.Ranges++
	}
}

func (d *decoder) resolveAssists(g *Generation) {
	for i := range d.doneAssists {
		a := &d.doneAssists[i]
		g.Ranges = append(g.Ranges, Range{Span: moment{at: a.begin}.until(a.end, &d.clock), Goroutine: a.g})
	}
	slices.SortFunc(d.assists, func(a, b assistEdge) int {
		return cmp.Or(cmp.Compare(a.g, b.g), cmp.Compare(a.seq, b.seq), cmp.Compare(a.order, b.order))
	})
	for i := range d.assists {
		e := &d.assists[i]
		open, was := d.openAssists[e.g]
		switch e.typ {
		case evGCMarkAssistBegin:
			if was {
				d.lost.Unmatched++
			}
			d.openAssists[e.g] = openAssist{d.clock.instant(e.at), g.Number}
		case evGCMarkAssistActive:
			if !was {
				open.since = g.Start // it was on when the trace began
			}
			d.openAssists[e.g] = openAssist{open.since, g.Number}
		case evGCMarkAssistEnd:
			if !was {
				d.lost.Unmatched++
				continue
			}
			end := max(open.since, d.clock.instant(e.at))
			g.Ranges = append(g.Ranges, Range{Span: stall.Span{Start: open.since, End: end}, Goroutine: e.g})
			delete(d.openAssists, e.g)
		}
	}
	d.carryAssists(g)
}

// carryAssists reports the part of each open assist that lies before the end
// of the generation, and keeps the rest.
func (d *decoder) carryAssists(g *Generation) {
	for id, open := range d.openAssists {
		if open.seen != g.Number {
			d.lost.Unmatched++
			delete(d.openAssists, id)
			continue
		}
		if open.since < g.End {
			g.Ranges = append(g.Ranges, Range{Span: stall.Span{Start: open.since, End: g.End}, Goroutine: id, Cut: true})
		}
		open.since = max(open.since, g.End)
		d.openAssists[id] = open
	}
}

// WorkerKind says how the scheduler ran a GC worker.
type WorkerKind uint8

const (
	NoWorker   WorkerKind = iota
	Dedicated             // holds its P until the marking is done
	Fractional            // holds a P for a share of the time
	Idle                  // runs only while the P has nothing else to do
)

// workerLabels are the EvGoLabel texts (runtime/mgc.go,
// gcMarkWorkerModeStrings).
var workerLabels = [...]string{Dedicated: "GC (dedicated)", Fractional: "GC (fractional)", Idle: "GC (idle)"}

// String returns "dedicated", "fractional" or "idle".
func (k WorkerKind) String() string {
	switch k {
	case Dedicated:
		return "dedicated"
	case Fractional:
		return "fractional"
	case Idle:
		return "idle"
	}
	return "none"
}

// Worker is one turn of a GC worker on a P.
type Worker struct {
	stall.Span
	Kind      WorkerKind
	Goroutine uint64
	// Cut means that the turn goes on: the generation ended within it, and the
	// next one's first part begins where this one ends.
	Cut bool
}

// openWorker is a worker's turn that has begun; it stays on its thread.
type openWorker struct {
	open  bool
	begin moment
	g     uint64
	label uint64     // string id of the current generation
	kind  WorkerKind // once the label is of an older generation
}

type doneWorker struct {
	openWorker
	end ticks
}

// workerBegin takes the label that follows the start of a worker: it has held
// its P since then.
func (d *decoder) workerBegin(t *thread, at ticks, label uint64) {
	if t.g == 0 {
		d.lost.Unmatched++
		return
	}
	if t.since != 0 {
		at = t.since
	}
	t.worker = openWorker{open: true, begin: moment{at: at}, g: t.g, label: label}
}

// workerEnd is called whenever a goroutine leaves the thread.
func (d *decoder) workerEnd(t *thread, at ticks) {
	if len(d.workers) < d.limits.Records {
		d.workers = append(d.workers, doneWorker{t.worker, at})
	} else {
		d.lost.Workers++
	}
	t.worker.open = false
}

func (d *decoder) resolveWorkers(g *Generation) {
	for i := range d.workers {
		w := &d.workers[i]
		if kind := d.workerKind(&w.openWorker); kind != NoWorker {
			g.Workers = append(g.Workers, Worker{Span: w.begin.until(w.end, &d.clock), Kind: kind, Goroutine: w.g})
		}
	}
}

func (d *decoder) workerKind(w *openWorker) WorkerKind {
	if w.begin.older {
		return w.kind
	}
	text := d.text(w.label)
	for k := Dedicated; k <= Idle; k++ {
		if workerLabels[k] == text {
			return k
		}
	}
	return NoWorker
}

// carryWorker reports the part of an open turn that lies before the end of the
// generation, and keeps the rest.
func (d *decoder) carryWorker(t *thread, g *Generation) {
	if !t.worker.open {
		return
	}
	kind := d.workerKind(&t.worker)
	if kind == NoWorker {
		t.worker.open = false
		return
	}
	start := t.worker.begin.instant(&d.clock)
	if start < g.End {
		g.Workers = append(g.Workers, Worker{stall.Span{Start: start, End: g.End}, kind, t.worker.g, true})
	}
	t.worker.kind = kind
	t.worker.begin = moment{since: max(start, g.End), older: true}
}
