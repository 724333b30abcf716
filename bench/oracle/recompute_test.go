package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// owner is a name for time, as the architecture has them.
type owner string

const (
	gcPause    owner = "gc.pause"
	suspension owner = "runtime.suspension"
	gcAssist   owner = "gc.assist"
	gcSweep    owner = "gc.sweep"
	gcWait     owner = "gc.wait"
	unknown    owner = "runtime.unknown"
	schedGC    owner = "sched.gc"
	sched      owner = "sched"
	queue      owner = "queue"
	uncertain  owner = "uncertain"
	app        owner = "app"
	appOrHost  owner = "app_or_host"
	unseen     owner = "unseen"
	overlapped owner = "overlapped" // not of the sum: stops while the goroutine was parked or ran
)

var owners = []owner{
	gcPause, suspension, gcAssist, gcSweep, gcWait, schedGC, sched, unknown, queue,
	uncertain, app, appOrHost, unseen, overlapped,
}

// window is one window of the program.
type window struct {
	start, end, arrival int64 // arrival 0: not known
	marked
	oneP bool
}

// from returns where the window begins with its arrival.
func (w *window) from() int64 {
	if w.arrival != 0 {
		return min(w.arrival, w.start)
	}
	return w.start
}

// wakeup is how long after a stop a goroutine may be seen to wake that was
// ready in it (package stall, Joiner), and a tick for the end of the stop.
const wakeup = 50_000 + tick

// recomputed says who owns the time of a window.
type recomputed struct {
	time map[owner]int64
	// doubt is by how much the owners may be wrong, since x/exp/trace moved
	// events.
	doubt int64
	// mute is time before the handler of which the monitor need not know, as it
	// follows a goroutine only in generations in which it has a window: time in a
	// state of which an older one tells since when it is, and why.
	mute int64
}

// scene is what of the timeline reaches into one window.
type scene struct {
	w                                       *window
	states, assists, sweeps, stops, workers []stretch

	cycles []stretch // of the whole trace
}

func (t *timeline) scene(w *window) *scene {
	from := w.from()
	s := &scene{w: w, stops: reaching(t.stops, from, w.end), workers: reaching(t.workers, from, w.end), cycles: t.cycles}
	s.add(t, reaching(t.states[w.g], from, w.end), deepest)
	return s
}

// deepest is how many coroutines may be within each other. Where events were
// moved, two that switch to each other seem to do so at once.
const deepest = 4

// add adds states, and what was done for the collector in them; in place of one
// in which the goroutine has switched to a coroutine, those of that one.
func (s *scene) add(t *timeline, states []stretch, depth int) {
	for i := range states {
		v := &states[i]
		if v.to != 0 {
			var inner []stretch
			for _, o := range reaching(t.states[v.to], v.start.at, v.end.at) {
				if o = o.within(v); o.start.at < o.end.at && depth > 0 {
					inner = append(inner, o)
				}
			}
			s.add(t, inner, depth-1)
			continue
		}
		s.states = append(s.states, *v)
		for _, a := range reaching(t.assists[v.by], v.start.at, v.end.at) {
			s.assists = append(s.assists, a.within(v))
		}
		for _, a := range reaching(t.sweeps[v.by], v.start.at, v.end.at) {
			s.sweeps = append(s.sweeps, a.within(v))
		}
	}
}

// String lists what is in the scene, by start, relative to the window's.
func (s *scene) String() string {
	type line struct {
		at   int64
		text string
	}
	var lines []line
	add := func(what string, list []stretch) {
		for _, v := range list {
			lines = append(lines, line{v.start.at, fmt.Sprintf("%12.3f to %12.3f us (moved %v, %v) %s %s", float64(v.start.at-s.w.start)/1e3,
				float64(v.end.at-s.w.start)/1e3, v.start.moved(), v.end.moved(), what, v.reason)})
		}
	}
	for _, v := range s.states {
		add(v.state.String(), []stretch{v})
	}
	add("assist", s.assists)
	add("sweep", s.sweeps)
	add("stop", s.stops)
	add("worker", s.workers)
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	for _, l := range lines[:min(len(lines), 40)] {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// recompute cuts the window wherever anything begins or ends, and asks of each
// piece whose it is.
func (t *timeline) recompute(w *window) recomputed {
	s := t.scene(w)
	from := w.from()
	out := recomputed{time: map[owner]int64{}}
	cuts := []int64{from, w.start, w.end}
	for _, list := range [][]stretch{s.states, s.assists, s.sweeps, s.stops, s.workers} {
		for _, v := range list {
			for _, e := range []edge{v.start, v.end} {
				if from < e.at && e.at < w.end {
					cuts = append(cuts, e.at)
				}
				if e.moved() && e.since < w.end && from < e.at {
					out.doubt += min(e.at, w.end) - max(e.since, from)
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := range cuts[1:] {
		a, b := cuts[i], cuts[i+1]
		whose, beside := s.owner(a)
		if state := at(s.states, a); a < w.start && state != nil && state.generation < w.generation {
			out.mute += b - a
		}
		out.time[whose] += b - a
		if beside != "" {
			out.time[beside] += b - a
		}
	}
	return out
}

// owner says whose the time from t to the next cut is.
func (s *scene) owner(t int64) (whose, beside owner) {
	state := at(s.states, t)
	stop := at(s.stops, t)
	inHandler := t >= s.w.start
	forGC, held := s.takenOff(state)
	parked := state != nil && (state.state == trace.GoWaiting || state.state == trace.GoSyscall) && !held
	ran := state != nil && state.state == trace.GoRunning && (stop == nil || stop.by != state.by)
	awake := !parked && !ran || !inHandler
	switch {
	case stop != nil && awake && isGC(stop.reason):
		return gcPause, ""
	case stop != nil && awake:
		return suspension, ""
	case at(s.assists, t) != nil:
		return gcAssist, ""
	case at(s.sweeps, t) != nil:
		return gcSweep, ""
	case parked && (forGC || state.toCollect || waitsForGC(state.reason)):
		return gcWait, ""
	case state != nil && state.state == trace.GoRunnable:
		if at(s.workers, t) != nil {
			return schedGC, ""
		}
		return sched, ""
	case held:
		return unknown, ""
	case s.unpolled(t):
		return schedGC, ""
	case parked && stop != nil && state.end.at <= stop.end.at+wakeup:
		return uncertain, ""
	case !inHandler:
		return queue, ""
	case parked && stop != nil:
		return app, overlapped
	case ran && stop != nil && inHandler:
		return appOrHost, overlapped
	case parked:
		return app, ""
	case state != nil && state.state == trace.GoRunning:
		return appOrHost, ""
	}
	return unseen, ""
}

// takenOff reports whether the runtime parked a goroutine that ran: for the
// collector, which scans its stack, or held it for somebody else.
func (s *scene) takenOff(state *stretch) (forGC, held bool) {
	if state == nil || state.state != trace.GoWaiting || state.reason != "preempted" {
		return false, false
	}
	for _, c := range s.cycles {
		if c.start.at <= state.start.at && state.end.at <= c.end.at {
			return true, false
		}
	}
	return false, true
}

// unpolled reports whether the request had arrived and could not be noticed, as
// a worker of the collector had the only P.
func (s *scene) unpolled(t int64) bool {
	state := at(s.states, t)
	return t < s.w.start && s.w.oneP && state != nil && state.state == trace.GoWaiting &&
		state.reason == "network" && at(s.stops, t) == nil && at(s.workers, t) != nil
}

func isGC(reason string) bool {
	return reason == "GC sweep termination" || reason == "GC mark termination"
}

func waitsForGC(reason string) bool {
	return reason == "wait until GC ends" || reason == "GC weak to strong wait" || reason == "GC mark assist wait for work"
}
