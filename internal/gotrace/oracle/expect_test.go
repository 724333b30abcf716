package oracle

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/exp/trace"
)

type openKey struct {
	name string
	id   uint64
}

// watcher turns the oracle's events into what was seen.
type watcher struct {
	seen
	open   map[openKey]span
	states map[uint64]stateSpan
	last   int64
	prefix string
	// Who has just been parked for no reason, and on which thread: it switches.
	leaves uint64
	thread trace.ThreadID
	procs  procs
	t      *testing.T
}

func watch(t *testing.T, data []byte, prefix string) (*seen, error) {
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	w := &watcher{open: map[openKey]span{}, states: map[uint64]stateSpan{}, prefix: prefix, t: t,
		procs: procs{running: map[trace.ProcID]bool{}}}
	w.spans = map[uint64][]stateSpan{}
	for {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		w.event(&ev)
	}
	w.finish()
	return &w.seen, nil
}

func (w *watcher) event(ev *trace.Event) {
	at := int64(ev.Time())
	switch ev.Kind() {
	case trace.EventSync:
		g := generation{start: at}
		if s := ev.Sync().ClockSnapshot; s != nil {
			g.snapshot(int64(s.Mono) - int64(s.Trace))
		}
		w.generations = append(w.generations, g)
		return
	case trace.EventRangeBegin, trace.EventRangeActive:
		w.rangeBegin(ev, at)
	case trace.EventRangeEnd:
		w.rangeEnd(ev, at)
	case trace.EventMetric:
		if ev.Metric().Name == "/memory/classes/heap/objects:bytes" {
			w.heap++
		}
	case trace.EventLog:
		if key := ev.Log().Category; strings.HasPrefix(key, w.prefix) {
			w.marks = append(w.marks, mark{at, uint64(ev.Goroutine()), key})
		}
	case trace.EventTaskBegin:
		k := ev.Task()
		x := task{at: at, g: uint64(ev.Goroutine()), id: uint64(k.ID), name: k.Type}
		if k.Parent != trace.NoTask {
			x.parent = uint64(k.Parent)
		}
		w.tasks = append(w.tasks, x)
	case trace.EventTaskEnd: // what the oracle repeats of the begin is not there
		w.tasks = append(w.tasks, task{at: at, g: uint64(ev.Goroutine()), id: uint64(ev.Task().ID), end: true})
	case trace.EventStateTransition:
		w.transition(ev, at)
	}
	if ev.Kind() != trace.EventStateTransition {
		w.leaves = 0
	}
	w.last = at
}

func keyOf(ev *trace.Event) openKey {
	r := ev.Range()
	switch r.Scope.Kind {
	case trace.ResourceGoroutine:
		return openKey{r.Name, uint64(r.Scope.Goroutine())}
	case trace.ResourceProc:
		return openKey{r.Name, uint64(r.Scope.Proc())}
	}
	return openKey{r.Name, 0}
}

func (w *watcher) rangeBegin(ev *trace.Event, at int64) {
	k := keyOf(ev)
	if _, ok := w.open[k]; ok {
		return // still active in a new generation
	}
	if strings.HasPrefix(k.name, stopPrefix) {
		w.procs.begin(k, ev.Proc())
	}
	s := span{start: at, g: goroutine(ev), active: ev.Kind() == trace.EventRangeActive}
	if ev.Range().Scope.Kind == trace.ResourceGoroutine {
		s.g = k.id
	}
	if s.active && ev.Range().Scope.Kind == trace.ResourceNone {
		s.g = 0 // who began the collection is not known
	}
	for f := range ev.Stack().Frames() {
		s.caller = f.Func
		if !strings.HasPrefix(f.Func, "runtime.") {
			break
		}
	}
	w.open[k] = s
}

// goroutine returns 0 where the oracle says -1.
func goroutine(ev *trace.Event) uint64 {
	if g := ev.Goroutine(); g != trace.NoGoroutine {
		return uint64(g)
	}
	return 0
}

func (w *watcher) rangeEnd(ev *trace.Event, at int64) {
	k := keyOf(ev)
	s, ok := w.open[k]
	if !ok {
		return
	}
	delete(w.open, k)
	s.end = at
	if k.name == "GC concurrent mark phase" {
		w.procs.mark(w.t)
	}
	s.restart = w.procs.end(k)
	w.add(k.name, s)
}

const stopPrefix = "stop-the-world ("

func (w *watcher) add(name string, s span) {
	if reason, ok := strings.CutPrefix(name, stopPrefix); ok {
		s.reason = strings.TrimSuffix(reason, ")")
		w.stops = append(w.stops, s)
		return
	}
	switch name {
	case "GC concurrent mark phase":
		w.cycles = append(w.cycles, s)
	case "GC mark assist":
		w.assists = append(w.assists, s)
	case "GC incremental sweep":
		w.sweeps = append(w.sweeps, s)
	}
}

func (w *watcher) transition(ev *trace.Event, at int64) {
	st := ev.StateTransition()
	if st.Resource.Kind == trace.ResourceProc {
		w.procs.change(ev, at)
	}
	if st.Resource.Kind != trace.ResourceGoroutine {
		return
	}
	g := uint64(st.Resource.Goroutine())
	from, to := st.Goroutine()
	if left, ok := w.states[w.leaves]; ok && from == trace.GoRunnable && to == trace.GoRunning && ev.Thread() == w.thread {
		left.to = g
		w.states[w.leaves] = left
	}
	w.leaves = 0
	if from == trace.GoRunning && to == trace.GoWaiting && st.Reason == "" {
		w.leaves, w.thread = g, ev.Thread()
	}
	s, ok := w.states[g]
	if ok && s.state == to {
		return // the status of a new generation
	}
	if ok {
		s.end = at
		w.spans[g] = append(w.spans[g], s)
	}
	s = stateSpan{start: at, state: to, reason: st.Reason}
	if !ok {
		s.start = 0 // so it has been since before the trace
		if from, _ := st.Goroutine(); from == trace.GoNotExist {
			s.start = at
		}
	}
	w.states[g] = s
}

func (w *watcher) finish() {
	for g, s := range w.states {
		s.end = w.last
		w.spans[g] = append(w.spans[g], s)
	}
	// What is open at the end is cut there, as gotrace does with ranges.
	for k, s := range w.open {
		if strings.HasPrefix(k.name, stopPrefix) || strings.HasPrefix(k.name, "GC concurrent") {
			continue
		}
		s.end, s.cut = w.last, true
		w.add(k.name, s)
	}
	order := func(list []span) {
		slices.SortStableFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.g, b.g)) })
	}
	order(w.stops)
	order(w.assists)
	order(w.sweeps)
}
