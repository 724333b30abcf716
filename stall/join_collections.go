package stall

import (
	"math"
	"slices"
	"sort"
)

// countCollections counts the collections that the window was charged for.
func (j *Joiner) countCollections(w *Window, e *Evidence, s *Share) {
	latest := Instant(math.MinInt64)
	count := func(v *Interval) {
		j.refs = append(j.refs, v.Ref)
		if v.Start >= latest {
			latest, s.LastCollection = v.Start, v.Ref
		}
	}
	for _, i := range j.stops {
		if v := &e.Process[i]; v.Ref != 0 && v.Cause == GCPause && delays(w, e.Track, j.part(v)) {
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
	s.Collections = len(j.refs)
}

// part returns the part of a pause that counts as of the window. What the trace saw
// is off by tens of nanoseconds, so that its place is not in doubt. In cycle fidelity
// the place may be: then only what is certain to lie in the window is charged.
func (j *Joiner) part(v *Interval) Span {
	if v.Origin == GoTrace {
		return v.Span().Clip(j.sweep.extent)
	}
	return v.Certain(j.sweep.extent)
}

// delays reports whether the window is charged for any of s, a part of a pause: not
// where the goroutine was parked or ran, between the window's start and its end. A
// pause of its own making is in [Evidence.Own].
func delays(w *Window, track []StateSpan, s Span) bool {
	if s.Empty() || s.Start < w.Start || s.End > w.End {
		return !s.Empty()
	}
	at := s.Start
	first := sort.Search(len(track), func(i int) bool { return track[i].End > at })
	for i := first; i < len(track); i++ {
		t := &track[i]
		if t.Start > at || at >= s.End {
			break
		}
		if t.State == StateParked || t.State == StateRunning {
			at = max(at, t.End)
		}
	}
	return at < s.End
}
