package host

import (
	"os"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// countEvery is the time between two readings of this process's counters.
	// Collections may ask for one sooner: countApart after the last, or countRest times
	// what that took, whichever is longer. /proc/stat takes a millisecond where there are
	// many CPUs. Of the last two the shorter counts: one may have waited for a CPU.
	countEvery = time.Second
	countApart = 50 * time.Millisecond
	countRest  = 500
	// countThreads is of how many threads the run delay is read, each by a file
	// of its own. With more of them it is looked again after manyEvery.
	countThreads = 128
	manyEvery    = 10 * time.Second
	// delayRest is how many times as long as it took passes before it is read
	// again: some seconds with a hundred threads, a thousandth of a CPU.
	delayRest = 1000
)

// Side says what the machine did to this process while it collected: by the
// kernel's counters, and by what the board has of this process. It is the
// loop's.
type Side struct {
	board   *Board
	now     func() stall.Instant
	process *hostcount.Process // nil where it cannot be read
	history hostcount.History
	rest    time.Duration // after the last reading
	took    time.Duration // the last reading
	delays  stall.Instant // when the run delay is read next
	pace    pacer.Pacer
	usual   slowed.Usual

	intervals  []stall.Interval // scratch
	cpu, pages []stall.Span
}

// NewSide returns what the counters say from now on, and what board does.
func NewSide(board *Board, clock stall.Clock) *Side {
	h := &Side{board: board, now: clock.Now, pace: pacer.New(clock)}
	if p, err := hostcount.Open(os.DirFS("/"), os.Getpid()); err == nil {
		h.process = p // without it collections do not say what was counted
	}
	return h
}

// Close frees what h holds.
func (h *Side) Close() {
	if h.process != nil {
		h.process.Close()
	}
}

// Count reads the counters now and then, and soon after a collection; ended is
// when the newest did.
func (h *Side) Count(now, ended stall.Instant) {
	last := h.history.Last()
	asked := last <= ended.Add(timeline.StopLate) && ended.Add(timeline.StopLate) < now
	if age := now.Sub(last); age < countEvery && (!asked || age < h.rest) {
		return
	}
	h.CountNow(now)
}

// CountNow reads the counters.
func (h *Side) CountNow(now stall.Instant) {
	if h.process == nil {
		return
	}
	r, err := h.process.Read(h.now, 0)
	if err != nil {
		return
	}
	took := r.End.Sub(r.Start)
	h.rest, h.took = min(max(countApart, countRest*min(took, h.took)), countEvery), took
	if now >= h.delays {
		h.readDelays(&r)
	}
	h.history.Add(r)
}

// readDelays adds to r the run delay of all threads. It is dear, and so in pieces,
// and not in every reading.
func (h *Side) readDelays(r *hostcount.Reading) {
	var sum time.Duration
	before := h.pace.Worked
	h.pace.Begin()
	threads, err := h.process.Threads(countThreads, func(tid string) {
		if _, delay, err := h.process.Schedstat(tid); err == nil {
			sum += delay
		}
		h.pace.Breathe()
	})
	h.pace.End()
	r.End = h.now()
	h.delays = r.End.Add(delayRest * (h.pace.Worked - before))
	switch {
	case err != nil:
	case threads > countThreads:
		h.delays = r.End.Add(manyEvery)
	default:
		r.RunDelay, r.Threads = gc.Known(sum), threads
	}
}

// Passed returns the instant up to which the board has everything of this process, and
// its counters were read; a dead board, and counters that cannot be read, keep
// nobody waiting.
func (h *Side) Passed(now stall.Instant) stall.Instant {
	t := now
	if last := h.history.Last(); now.Sub(last) < countEvery {
		t = min(t, last)
	}
	return min(t, h.board.Passed(now))
}

// Fill fills in what the machine did to the process while it collected, and what
// that made of the pauses.
func (h *Side) Fill(c *gc.Collection) { h.usual.Fill(c, h.during) }

// during returns what the machine did in s, which may lie off by slack. Time in
// which a page was waited for and the machine was gone counts as the machine's.
func (h *Side) during(s stall.Span, slack time.Duration) gc.HostDuring {
	if s.Start == 0 || s.Empty() {
		return gc.HostDuring{}
	}
	wide := stall.Span{Start: s.Start.Add(-slack), End: s.End.Add(slack)}
	d := h.history.During(wide)
	h.intervals = h.board.Log.Intervals(h.intervals[:0], s)
	h.cpu, h.pages = h.cpu[:0], h.pages[:0]
	for i := range h.intervals {
		v := &h.intervals[i]
		off := v.Slack + slack
		inside := stall.Span{Start: v.Start.Add(off), End: v.End.Add(-off)}.Clip(s)
		switch {
		case inside.Empty() || !v.Applies(h.board.place):
		case v.Cause == stall.HostFault:
			h.pages = append(h.pages, inside)
		case v.Cause == stall.HostUnknown && v.Scope != stall.ScopeTarget:
			// It may not be the CPU that was taken. Of the process's own threads it was.
		case v.Cause != stall.HostSuspended:
			h.cpu = append(h.cpu, inside)
		}
	}
	cpu := length(h.cpu)
	pages := length(append(h.pages, h.cpu...)) - cpu // none is taken twice
	watched := h.board.Watched.Coverage(wide) == 1
	d.CPUWait, d.PageWait = certain(cpu, watched), certain(pages, watched)
	return d
}

// certain returns what was taken for certain. That nothing was is known only of
// time that was watched throughout.
func certain(taken time.Duration, watched bool) gc.Maybe[time.Duration] {
	if taken == 0 && !watched {
		return gc.Maybe[time.Duration]{}
	}
	return gc.Known(taken)
}

// length returns how long spans are together, what they share once.
func length(spans []stall.Span) (sum time.Duration) {
	for _, s := range stall.Union(spans) {
		sum += s.Duration()
	}
	return sum
}
