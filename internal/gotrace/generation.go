package gotrace

import "github.com/otelgc/otelgc/stall"

// Generation is what one generation of a trace says of stalls. It is valid
// until the next call of [Reader.Next]; strings in it stay valid.
type Generation struct {
	Number uint64
	// Span is what the generation covers: from the end of the one before it,
	// or else the first event, to the last event of any thread.
	stall.Span
	// Shared says that instants are CLOCK_MONOTONIC as the traced process reads
	// it, plus Options.Offset, if it ran on Linux, which the trace does not say: its
	// frequency is 15,625,000, as on Linux with every version, or there is a snapshot
	// of the clocks (Go 1.25 and later). Otherwise only durations mean something.
	Shared  bool
	Version int // of the format: 22, 23, 25, 26

	Stops   []Stop   // every stop-the-world that ended here, by Start
	Cycles  []Cycle  // collections that ended here, in order
	Workers []Worker // turns of GC workers, cut at the generation's end, by Start
	Ranges  []Range  // mark assists and sweeps, cut at the generation's end, by Start
	Marks   []Mark   // by At
	Tasks   []Task   // by At; none without Options.Tasks
	Tracks  []Track  // by Goroutine
	Turns   []Turn   // of coroutines in the place of followed goroutines, by Coroutine, then Start
	Heap    []Sample // EvHeapAlloc: bytes of the heap, by At
	Goals   []Sample // EvHeapGoal, by At

	// Running is the collection that had not ended when the generation did,
	// nil if there is none.
	Running *Cycle

	Events     int64 // with a timestamp
	Bytes      int64 // on the wire
	Goroutines int   // status events: what the trace pays for idle goroutines
	// Truncated says that Lost is not empty.
	Truncated bool
	Lost      Lost
}

func (g *Generation) reset() {
	*g = Generation{
		Stops: g.Stops[:0], Cycles: g.Cycles[:0], Workers: g.Workers[:0], Ranges: g.Ranges[:0],
		Marks: g.Marks[:0], Tasks: g.Tasks[:0], Tracks: g.Tracks[:0], Turns: g.Turns[:0], Heap: g.Heap[:0], Goals: g.Goals[:0],
	}
}

// begin empties d for a generation. A number that does not follow the last one
// is a hole in the stream: nothing that was open can be trusted.
func (d *decoder) begin(number uint64, out *Generation) {
	out.reset()
	d.lost = Lost{}
	d.hole = d.number == 0 || number != d.number+1
	if d.number != 0 && d.hole {
		d.lost.Generations = number - d.number - 1
		d.dropOpenCycle(out)
		d.forgetOpen()
		d.forgetStates()
	}
	d.number = number
	d.clock = clock{offset: d.offset}
	d.any, d.first, d.last = false, 0, 0
	d.events, d.bytes64, d.statuses = 0, 0, 0
	d.strings.reset()
	d.names.next()
	d.texts = [cachedTexts]string{}
	d.stacks.reset()
	d.heap.next()
	d.goals.next()
	d.stops, d.cycles, d.sweeps = d.stops[:0], d.cycles[:0], d.sweeps[:0]
	d.handoffs = d.handoffs[:0]
	d.assists, d.doneAssists = d.assists[:0], d.doneAssists[:0]
	d.workers, d.logs, d.tasks = d.workers[:0], d.logs[:0], d.tasks[:0]
	d.transitions.reset()
	d.callbacks, d.switches = false, 0
	clear(d.thinned)
	d.frameBuf = d.frameBuf[:0]
	clear(d.asked)
	clear(d.collects)
}

// forgetOpen drops all that had not ended, and is known to no one now.
func (d *decoder) forgetOpen() {
	d.threads.reset()
	d.cycle = openCycle{}
	clear(d.openAssists)
	d.heap.forget()
	d.goals.forget()
}

// forget drops all that is known of a stream.
func (d *decoder) forget() {
	d.forgetOpen()
	clear(d.followed)
	clear(d.standNext)
	d.number, d.covered = 0, 0
}

// finish turns what was read into a Generation. On an error the offset is that
// of the bytes at fault, or 0.
func (d *decoder) finish(out *Generation) (int64, error) {
	if d.clock.frequency == 0 {
		return 0, broken("generation %d has no frequency", d.number)
	}
	if d.version >= go125 && !d.clock.snapshot {
		return 0, broken("generation %d has no clock snapshot", d.number)
	}
	d.clock.settle()
	lost, at, err := d.strings.index(evString, d.limits.Strings, skipString)
	d.lost.Strings += lost
	if err != nil {
		return at, err
	}
	lost, at, err = d.stacks.index(evStack, d.limits.Stacks, skipStack)
	d.lost.Stacks += lost
	if err != nil {
		return at, err
	}
	d.cover(out)
	d.resolve(out)
	return 0, nil
}

// cover sets what the generation spans.
func (d *decoder) cover(out *Generation) {
	out.Number, out.Version, out.Shared = d.number, d.version, d.clock.shared()
	out.Start = d.covered
	if d.hole || d.covered == 0 {
		out.Start = d.clock.instant(d.first)
	}
	out.End = max(out.Start, d.clock.instant(d.last))
	d.covered = out.End
	out.Events, out.Bytes, out.Goroutines = d.events, d.bytes64, d.statuses
}

func (d *decoder) resolve(out *Generation) {
	d.heap.sort()
	d.goals.sort()
	out.Heap = d.heap.resolve(out.Heap, &d.clock)
	out.Goals = d.goals.resolve(out.Goals, &d.clock)
	d.resolveStops(out)
	d.resolveCycles(out)
	d.breathe()
	d.resolveWorkers(out)
	d.breathe()
	d.resolveSweeps(out)
	d.breathe()
	for _, t := range d.threads.byID {
		d.assistLeaves(t)
	}
	d.resolveAssists(out)
	d.breathe()
	d.resolveMarks(out)
	d.resolveTasks(out)
	d.breathe()
	d.resolveTracks(out)
	for _, t := range d.threads.byID {
		d.carryStop(t)
		d.carryWorker(t, out)
		d.carrySweep(t, out)
	}
	out.Workers = d.workerOrder.sort(out.Workers, func(a, b *Worker) bool { return a.Start < b.Start })
	out.Ranges = d.rangeOrder.sort(out.Ranges, func(a, b *Range) bool { return a.Start < b.Start })
	d.threads.prune(d.number)
	if d.cycle.open {
		d.running = d.cycle.Cycle
		out.Running = &d.running
	}
	out.Lost = d.lost
	out.Truncated = d.lost.Any()
}
