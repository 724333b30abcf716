package otelgc

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// maxChildren bounds the joined goroutines that count in one window, in the
// order in which they joined.
const maxChildren = 64

// child is a goroutine that joined a window for a while.
type child struct {
	goroutine uint64
	stall.Span
}

// followChildren lays the states of goroutines that joined the window, and what
// the collector and the scheduler did to them, over the time that the window's
// own goroutine was parked: then the window waits for what stalls them.
func (b *book) followChildren(e *stall.Evidence, w *stall.Window, slot int16, parent uint64, held stall.Instant) {
	for _, c := range b.childrenOf(slot, stall.Span{Start: held, End: w.End}) {
		if c.goroutine != parent {
			b.stepIn(e, c)
		}
	}
}

// childrenOf returns who joined the window that held slot during s.
func (b *book) childrenOf(slot int16, s stall.Span) (children []child) {
	for i := range uint64(chapters) {
		c := b.pages[(b.n+i)%chapters] // oldest first
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		for _, j := range c.joins {
			if j.slot != slot || j.at < s.Start || j.at > s.End {
				continue
			}
			if !j.end && len(children) < maxChildren {
				children = append(children, child{j.goroutine, stall.Span{Start: j.at, End: s.End}})
			}
			if j.end {
				leave(children, j)
			}
		}
	}
	return children
}

func leave(children []child, j mark) {
	for i := range slices.Backward(children) {
		if children[i].goroutine == j.goroutine {
			children[i].End = min(children[i].End, j.at)
			return
		}
	}
}

// stepIn replaces the parked stretches of the window's track by what the child
// did in them.
func (b *book) stepIn(e *stall.Evidence, c child) {
	old := slices.Clone(e.Track)
	e.Track = e.Track[:0]
	for _, t := range old {
		part := stall.Span{Start: t.Start, End: t.End}.Clip(c.Span)
		if t.State != stall.StateParked || part.Empty() || waitsForGC(e.Own, t) {
			e.Track = append(e.Track, t)
			continue
		}
		e.Track = appendState(e.Track, t.Start, part.Start, stall.StateParked)
		at := b.appendChild(e, c.goroutine, part)
		e.Track = appendState(e.Track, at, t.End, stall.StateParked)
	}
}

// waitsForGC reports whether the stretch is a wait for the collector, which is
// charged as it is.
func waitsForGC(own []stall.Interval, t stall.StateSpan) bool {
	return slices.ContainsFunc(own, func(v stall.Interval) bool {
		return v.Cause == stall.GCWait && v.Start == t.Start && v.End == t.End
	})
}

// appendChild adds the states of a goroutine within s, and returns how far they
// reach. Where it was not followed, the window counts as parked.
func (b *book) appendChild(e *stall.Evidence, goroutine uint64, s stall.Span) stall.Instant {
	at := s.Start
	for i := range uint64(chapters) {
		c := b.pages[(b.n+i)%chapters]
		if c.span.End <= s.Start || c.span.Start >= s.End {
			continue
		}
		for _, t := range c.track(goroutine, s) {
			v := t.span().Clip(stall.Span{Start: at, End: s.End})
			if v.Empty() {
				continue
			}
			e.Track = appendState(e.Track, at, v.Start, stall.StateParked)
			e.Track = appendState(e.Track, v.Start, v.End, t.state)
			e.Own = appendOwn(e.Own, &t, v, c.workers)
			at = v.End
		}
		for _, r := range c.rangesOf(goroutine, s) {
			if v := (stall.Span{Start: r.Start, End: r.End}).Clip(s); !v.Empty() {
				e.Own = append(e.Own, own(v.Start, v.End, causeOf(r.Kind)))
			}
		}
	}
	return at
}

// appendOwn adds what a state of a goroutine says of the collector and the
// scheduler, within s.
func appendOwn(to []stall.Interval, t *state, s stall.Span, workers []stall.Span) []stall.Interval {
	switch {
	case t.gcWait:
		return append(to, own(s.Start, s.End, stall.GCWait))
	case t.state == stall.StateRunnable:
		return appendSched(to, s, workers)
	}
	return to
}

func appendState(to []stall.StateSpan, start, end stall.Instant, state stall.State) []stall.StateSpan {
	if start >= end {
		return to
	}
	return append(to, stall.StateSpan{Start: start, End: end, State: state})
}
