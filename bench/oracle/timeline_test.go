package oracle

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"

	"golang.org/x/exp/trace"
)

// timeline is what x/exp/trace says of one trace.
type timeline struct {
	states  map[trace.GoID][]stretch
	assists map[trace.GoID][]stretch
	sweeps  map[trace.GoID][]stretch
	stops   []stretch
	workers []stretch // dedicated and fractional ones, each turn on a P
	cycles  []stretch // collections

	windows     map[int]marked // by the number that the program logged
	first, last int64
	moved       int // events, of all
	events      int
}

// marked says on which goroutine a window is, and in which generation it says so.
type marked struct {
	g          trace.GoID
	generation int
}

// windowLog is the category by which the program tells the goroutine of a
// window; the message is the window's number.
const windowLog = "truth.window"

// reader fills a timeline.
type reader struct {
	timeline
	// The reader gives all events of a generation before those of the next. By their
	// time they cannot be told apart: a thread that lost its CPU in a write has a late
	// event of the old one.
	generation int
	lastOf     map[trace.ThreadID]int64 // when each thread's last event was, at the earliest
	now        edge
	// The last event's time of the trace's clock, and whether it was moved.
	lastTime int64
	moving   bool
	ranges   map[rangeKey]openRange
	current  map[trace.GoID]stretch
	worker   map[trace.GoID]bool // the goroutine works for the collector since it runs
	procs    procs
	leaves   trace.GoID // who was parked last, for no reason that is told
	thread   trace.ThreadID
}

func read(data []byte) (*timeline, error) {
	in, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r := &reader{
		timeline: timeline{
			states: map[trace.GoID][]stretch{}, assists: map[trace.GoID][]stretch{}, sweeps: map[trace.GoID][]stretch{},
			windows: map[int]marked{},
		},
		lastOf: map[trace.ThreadID]int64{}, leaves: trace.NoGoroutine, ranges: map[rangeKey]openRange{},
		current: map[trace.GoID]stretch{}, worker: map[trace.GoID]bool{},
	}
	for {
		ev, err := in.ReadEvent()
		if errors.Is(err, io.EOF) {
			r.finish()
			return &r.timeline, nil
		}
		if err != nil {
			return nil, err
		}
		r.event(&ev)
	}
}

const tick = 64 // nanoseconds of CLOCK_MONOTONIC

func (r *reader) event(ev *trace.Event) {
	if ev.Kind() == trace.EventSync {
		if ev.Sync().ClockSnapshot != nil {
			r.generation++
		}
		return
	}
	r.place(ev)
	if ev.Kind() != trace.EventStateTransition {
		r.leaves = trace.NoGoroutine
	}
	switch ev.Kind() {
	case trace.EventStateTransition:
		switch st := ev.StateTransition(); st.Resource.Kind {
		case trace.ResourceGoroutine:
			_, to := st.Goroutine()
			r.change(st.Resource.Goroutine(), to, st.Reason, st.Stack)
			r.noteSwitch(ev)
		case trace.ResourceProc:
			_, to := st.Proc()
			r.procs.change(st.Resource.Proc(), to == trace.ProcRunning, r.now)
		}
	case trace.EventLabel:
		if l := ev.Label(); l.Resource.Kind == trace.ResourceGoroutine {
			r.worker[l.Resource.Goroutine()] = l.Label == "GC (dedicated)" || l.Label == "GC (fractional)"
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		r.begin(ev)
	case trace.EventRangeEnd:
		r.end(ev)
	case trace.EventLog:
		if l := ev.Log(); l.Category == windowLog {
			if n, err := strconv.Atoi(l.Message); err == nil {
				r.windows[n] = marked{ev.Goroutine(), r.generation}
			}
		}
	}
}

// place says when ev happened.
func (r *reader) place(ev *trace.Event) {
	at := int64(ev.Time())
	r.moving = at%tick != 0 || r.moving && at == r.lastTime+1
	r.lastTime = at
	r.now = edge{at: at, since: at}
	r.events++
	if r.moving {
		r.moved++
		r.now.since = r.lastOf[ev.Thread()]
	}
	r.lastOf[ev.Thread()] = r.now.since
	if r.first == 0 {
		r.first = r.now.at
	}
	r.last = r.now.at
}

func (r *reader) change(g trace.GoID, to trace.GoState, reason string, stack trace.Stack) {
	s, known := r.current[g]
	if known && s.state == to {
		return // a generation begins and says how things are
	}
	if known {
		r.close(g, s)
	}
	r.current[g] = stretch{start: r.now, generation: r.generation, state: to, reason: reason, by: g, toCollect: reason == "sync" && collects(stack)}
	delete(r.worker, g)
}

func collects(stack trace.Stack) bool {
	for f := range stack.Frames() {
		if f.Func == "runtime.gcStart" || f.Func == "runtime.stopTheWorldGC" {
			return true
		}
	}
	return false
}

// noteSwitch notes to whom a goroutine switched: it is parked without a reason,
// and the next thing on the thread is that another runs.
func (r *reader) noteSwitch(ev *trace.Event) {
	st := ev.StateTransition()
	from, to := st.Goroutine()
	if s, ok := r.current[r.leaves]; ok && from == trace.GoRunnable && to == trace.GoRunning && ev.Thread() == r.thread {
		s.to = st.Resource.Goroutine()
		r.current[r.leaves] = s
	}
	r.leaves = trace.NoGoroutine
	if from == trace.GoRunning && to == trace.GoWaiting && st.Reason == "" {
		r.leaves, r.thread = st.Resource.Goroutine(), ev.Thread()
	}
}

func (r *reader) close(g trace.GoID, s stretch) {
	s.end = r.now
	r.states[g] = append(r.states[g], s)
	if r.worker[g] && s.state == trace.GoRunning {
		r.workers = append(r.workers, s)
	}
}

// finish ends at the trace's end what is still on.
func (r *reader) finish() {
	for g, s := range r.current {
		r.close(g, s)
	}
	for k, o := range r.ranges {
		r.keep(k.name, o)
	}
	byStart := func(a, b stretch) int { return cmp.Compare(a.start.at, b.start.at) }
	slices.SortFunc(r.stops, byStart)
	slices.SortFunc(r.workers, byStart)
	r.workers = union(r.workers)
}
