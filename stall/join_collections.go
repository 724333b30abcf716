package stall

import (
	"math"
	"slices"
)

// countCollections counts the collections that the window was charged for. A pause
// without a Ref is of a collection that no other interval is of.
func (j *Joiner) countCollections(w *Window, e *Evidence, s *Share) {
	latest, unnumbered := Instant(math.MinInt64), 0
	count := func(v *Interval) {
		j.refs = append(j.refs, v.Ref)
		if v.Start >= latest {
			latest, s.LastCollection = v.Start, v.Ref
		}
	}
	for i := range j.pauses {
		p := &j.pauses[i]
		switch v := &e.Process[p.at]; {
		case j.tracked && !j.delays(w, e, p.Span):
		case v.Ref == 0:
			unnumbered++
		default:
			count(v)
		}
	}
	j.scratch = j.own.overlaps(j.scratch[:0], j.sweep.extent)
	for _, i := range j.scratch {
		if v := &e.Own[i]; v.Ref != 0 && v.Cause.IsGC() {
			count(v)
		}
	}
	slices.Sort(j.refs)
	j.refs = slices.Compact(j.refs)
	s.Collections = len(j.refs) + unnumbered
}

// pausePart is the part of a pause that counts as of the window.
type pausePart struct {
	at int32 // in Evidence.Process
	Span
}

// addPause keeps what counts of a pause as of the window. What the trace saw is off by
// tens of nanoseconds, so that its place is not in doubt. In cycle fidelity the place may
// be: then only what is certain to lie in the window is charged.
func (j *Joiner) addPause(at int32, v *Interval, certain Span) {
	if v.Origin == GoTrace {
		certain = Span{v.Start, v.End}.Clip(j.sweep.extent)
	}
	if !certain.Empty() {
		j.pauses = append(j.pauses, pausePart{at, certain})
	}
}

// delays reports whether s, a part of a pause, delayed the window: not where the
// goroutine was parked, or ran and did not make the pause itself, between the window's
// start and its end.
func (j *Joiner) delays(w *Window, e *Evidence, s Span) bool {
	if s.Start < w.Start || s.End > w.End {
		return true
	}
	j.states, j.made = j.track.overlaps(j.states[:0], s), j.own.overlaps(j.made[:0], s)
	free := func(at Instant) bool {
		var in [4]bool // by state
		for _, i := range j.states {
			t := &e.Track[i]
			in[t.State&3] = in[t.State&3] || t.Start <= at && at < t.End
		}
		made := slices.ContainsFunc(j.made, func(i int32) bool {
			v := &e.Own[i]
			return (v.Cause == GCPause || v.Cause == RuntimeSuspension) && v.Start <= at && at < v.End
		})
		one := !(in[StateParked] && in[StateRunning]) && !in[StateRunnable] // or it is not known
		return s.Start <= at && at < s.End && !(one && in[StateParked]) && !(one && in[StateRunning] && !made)
	}
	// It changes only where a state or a pause of its own begins or ends.
	return free(s.Start) ||
		slices.ContainsFunc(j.states, func(i int32) bool { return free(e.Track[i].Start) || free(e.Track[i].End) }) ||
		slices.ContainsFunc(j.made, func(i int32) bool { return free(e.Own[i].Start) || free(e.Own[i].End) })
}
