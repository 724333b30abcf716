package gotrace

import "github.com/otelgc/otelgc/stall"

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
