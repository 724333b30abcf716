package stall

import (
	"slices"
	"time"
)

// Joiner lays intervals over windows. It owns the scratch space for that, so a
// Joiner that is used again does not allocate. The zero value is ready. It is
// not for concurrent use.
//
// Every nanosecond of the window's extent goes to the first that claims it:
//
//  1. gc.pause
//  2. runtime.suspension
//  3. gc.assist, gc.sweep (not where 5 is)
//  4. gc.wait
//  5. host intervals of scope target that apply
//  6. sched.gc, sched
//  7. the other host intervals that apply
//  8. runtime.unknown
//  9. what one of the above covers only within its slack: [Share.Uncertain]
//  10. what is left over: queue before the handler and after it, otherwise
//     sched, app, app_or_host or unseen, by what is known of the goroutine
//
// Within a line the order is that of [Cause]. So the machine outranks assist
// and sweep where it had the very threads of this process, as a thread that is
// off its CPU does not mark; gc.wait stands above it, as the goroutine waited
// for the collector with or without a CPU. Where assist, wait and target meet,
// wait has it.
//
// Stops and host intervals claim nothing while the goroutine was parked by its
// own doing, as known from [Evidence.Track]. Track counts between the window's
// Start and End only: before and after, the request is under way but the
// goroutine is not at it. A stop in parked time is [Share.Overlapped]; but if
// the goroutine woke in the stop or up to 50 us after it, it may have been
// ready earlier, since the network is not polled and no timer fires in a stop, and
// the overlap is uncertain.
//
// Nor do stops claim anything while the goroutine ran: a stop begins before it has
// reached every goroutine. Only the one that stops the world runs in the stop: [Evidence.Own]
// says so. What a stop costs the others is the time in which they are runnable.
//
// An interval in a list where its cause does not belong is ignored.
type Joiner struct {
	process, own, host, track, seen, targetSeen cursor

	sweep   sweep
	pauses  []pausePart
	parked  []int32 // hits of track that are parked
	tracked bool    // there are hits of track
	states  []int32 // those in a pause
	made    []int32 // hits of own in a pause
	stops   []int32 // hits of process that are stops
	scratch []int32
	refs    []uint64 // of the collections that delayed the window
	share   Share
}

// wakeupGrace is how long after a stop a goroutine that became ready in it may
// be seen to wake.
const wakeupGrace = 50 * time.Microsecond

// maxExtent is the longest time that a window accounts for, 2.2 years; what
// goes beyond is cut off.
const maxExtent = 1<<56 - 1

// Join writes into s the owners of the time of w. A window that ends before it
// starts has the zero Share.
//
// Join looks at all of e; with many windows on the same evidence use
// [Joiner.All].
func (j *Joiner) Join(w *Window, e *Evidence, s *Share) {
	if !j.skips(e) {
		j.load(e)
	}
	j.join(w, e, s)
}

// skips reports whether there is nothing to lay over windows. That is so for nearly all
// while nothing is traced.
func (j *Joiner) skips(e *Evidence) bool {
	return len(e.Process)|len(e.Own)|len(e.Host)|len(e.Track)|len(e.Seen)|len(e.TargetSeen) == 0 && !j.sweep.record
}

// Pieces appends to dst the pieces of w in order, without a gap between them, and returns
// it. A piece that goes on where dst ends, in the same part, is one with that. The pieces
// of a part sum to what [Joiner.Join] says that it has.
func (j *Joiner) Pieces(dst []Piece, w *Window, e *Evidence) []Piece {
	j.sweep.record, j.sweep.pieces = true, dst
	j.Join(w, e, &j.share)
	dst = j.sweep.pieces
	j.sweep.record, j.sweep.pieces = false, nil
	return dst
}

// Extend adds to s the share of w, which is the next piece of the same window. A
// collection that delays both pieces counts once.
func (j *Joiner) Extend(w *Window, e *Evidence, s *Share) {
	j.Join(w, e, &j.share)
	s.Add(&j.share)
	s.Collections += j.share.Collections
	if slices.Contains(j.refs, s.LastCollection) {
		s.Collections--
	}
	if j.share.LastCollection != 0 {
		s.LastCollection = j.share.LastCollection
	}
}

// All joins every window with e, in order, and calls yield with its index and
// its share until yield returns false. The share is good until yield returns.
//
// The windows should be sorted by the start of their extents: then the work
// grows with the windows, the intervals and the pairs of them that overlap.
// All gives the same shares as Join in any order.
func (j *Joiner) All(windows []Window, e *Evidence, yield func(i int, s *Share) bool) {
	j.load(e)
	for i := range windows {
		j.join(&windows[i], e, &j.share)
		if !yield(i, &j.share) {
			return
		}
	}
}

func (j *Joiner) load(e *Evidence) {
	interval := func(v *Interval) Span { return v.Span() }
	load(&j.process, e.Process, interval)
	load(&j.own, e.Own, interval)
	load(&j.host, e.Host, interval)
	load(&j.track, e.Track, func(v *StateSpan) Span { return Span{v.Start, v.End} })
	load(&j.seen, e.Seen, func(v *Span) Span { return *v })
	load(&j.targetSeen, e.TargetSeen, func(v *Span) Span { return *v })
}

func (j *Joiner) join(w *Window, e *Evidence, s *Share) {
	*s = Share{}
	j.refs = j.refs[:0]
	if w.End < w.Start {
		return
	}
	extent := w.Extent()
	if extent.Empty() {
		s.Fidelity = Exact // nothing is unseen
		return
	}
	if uint64(extent.End)-uint64(extent.Start) > maxExtent {
		extent.End = extent.Start + maxExtent
	}
	s.Total = extent.Duration()
	handler := Span{w.Start, w.End}
	if j.skips(e) {
		s.Unseen = handler.Clip(extent).Duration()
		s.Charged[Queue] = s.Total - s.Unseen
		return
	}
	j.sweep.begin(extent)
	j.sweep.add(inHandler, handler)
	j.addProcess(e.Process, extent, s)
	j.addOwn(e.Own, extent)
	j.addHost(e.Host, extent, w.Place)
	j.addTrack(e, extent)
	j.addSpans(&j.seen, seen)
	j.addSpans(&j.targetSeen, targetSeen)
	j.sweep.settle(s)
	if s.GC() > 0 {
		j.countCollections(w, e, s)
	}
	if s.Unseen == 0 && s.Covered == s.Total {
		s.Fidelity = Exact
	}
}
