package otelgc

import (
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const (
	resolveEvery = 100 * time.Millisecond
	batchSize    = 4096
	breatheEvery = 16 // windows, which take some microseconds
)

// resolver gives windows their shares when the sources have passed them.
type resolver struct {
	m        *Monitor
	batch    []window.Ended
	evidence evidence
	joiner   stall.Joiner
	pace     pacer.Pacer
	longs    longs
	known    []*long // of the batch; nil where nothing is
	one      long    // of a window in one piece

	lengths lengths
	slowest atomic.Int64 // what nearly all windows take

	// windows, and those among them that were followed in the trace, of one
	// turn: what they took is a cost of tracing.
	windows, followed int

	// forgotten counts windows that began before what is remembered, and were not
	// settled piece by piece: that much of them is unseen.
	forgotten atomic.Uint64
	foreign   atomic.Uint64 // windows by another clock
}

// passed returns the instant that every source has passed or missed its
// deadline for.
func (r *resolver) passed(now stall.Instant) stall.Instant {
	m := r.m
	return max(min(m.timeline.Watermark(), m.machine.board.Passed(now)), now.Add(-timeline.Deadline))
}

// resolve gives their shares to the windows that are due.
func (r *resolver) resolve(now stall.Instant) {
	before := r.pace.Worked
	r.windows, r.followed = 0, 0
	r.pace.Begin()
	passed := r.passed(now)
	due := passed
	r.drain(&r.m.windows.pending, due)
	r.slowest.Store(int64(r.lengths.nearlyAll()))
	if r.m.windows.flushNow.Swap(false) {
		due = now.Add(timeline.Deadline)
	}
	r.drain(&r.m.windows.watched, due)
	r.longs.settle(r, now, passed)
	r.pace.End()
	if r.followed > 0 {
		took := float64(r.pace.Worked - before)
		r.m.exact.joined.Add(int64(took * float64(r.followed) / float64(r.windows)))
	}
}

// drain resolves the windows of a queue that ended by due.
func (r *resolver) drain(p *window.Queue, due stall.Instant) {
	for {
		r.batch = p.Take(r.batch[:0], due, batchSize)
		if len(r.batch) == 0 {
			return
		}
		r.resolveBatch()
		if len(r.batch) < batchSize {
			return
		}
	}
}

func (r *resolver) resolveBatch() {
	windows := slices.DeleteFunc(r.batch, r.elsewhere)
	if len(windows) == 0 {
		return
	}
	all := stall.Span{Start: windows[0].Start, End: windows[0].End}
	for i := range windows {
		w := windows[i].Window(nil)
		extent := w.Extent()
		known := r.longs.take(&windows[i])
		if known != nil {
			extent.Start = known.upTo
		}
		r.known = append(r.known, known)
		all.Start, all.End = min(all.Start, extent.Start), max(all.End, extent.End)
		if windows[i].Tell == nil {
			r.lengths.note(w.End.Sub(w.Start))
		}
	}
	r.evidence.gather(all)
	for i := range windows {
		r.resolveOne(&windows[i], r.known[i])
		if i%breatheEvery == 0 {
			r.pace.Breathe()
		}
	}
	clear(windows)
	clear(r.known)
	r.known = r.known[:0]
}

// elsewhere reports, and counts, that a window began or ended by another clock: the
// program is in a bubble of testing/synctest then, where it is the year 2000.
func (r *resolver) elsewhere(e window.Ended) bool {
	if e.Start > 0 && e.Start <= e.End {
		return false
	}
	r.foreign.Add(1)
	return true
}

// resolveOne settles a window, or what is left of one that lasted.
func (r *resolver) resolveOne(e *window.Ended, known *long) {
	if r.windows++; e.Slot != window.NoSlot {
		r.followed++
	}
	w := e.Window(r.m.place)
	rest := w
	if known == nil {
		if e.Start < r.evidence.stops.Floor {
			r.forgotten.Add(1)
		}
		known = &r.one
		known.by, known.share.Total = known.by.blank(), 0
	} else {
		rest.Start, rest.Arrival = known.upTo, 0
	}
	r.join(&rest, e.Slot, stall.Span{Start: e.Held, End: e.End}, known)
	s := &known.share
	if s.GC() > 0 {
		s.Collections = max(1, s.Collections)
	}
	r.m.conclude(e, &w, s)
}

// join adds to what is known of a window the piece w of it. It had slot during
// had.
func (r *resolver) join(w *stall.Window, slot int16, had stall.Span, known *long) {
	found := r.evidence.of(w, slot, had, &known.by)
	if known.share.Total == 0 {
		r.joiner.Join(w, found, &known.share)
		return
	}
	known.share.LastCollection = r.m.timeline.Number(known.share.LastCollection)
	r.joiner.Extend(w, found, &known.share)
}

// conclude reports a window whose share is known: to the caller that asked for it, or
// as a request.
func (m *Monitor) conclude(e *window.Ended, w *stall.Window, s *stall.Share) {
	if e.Tell != nil {
		m.panics.safely("window", "a function of Monitor.Resolve", func() { e.Tell(w, s) })
		return
	}
	q := telemetry.Request{
		Share: s, Collections: s.Collections, Kind: m.kind,
		Span: e.Span.Context(), Route: m.requests.routes.name(e.Route),
	}
	m.tel.Request(&q)
	if m.requests.slow.is(s) {
		m.tellSlow(&q, w)
	}
	if m.requests.onWindow != nil {
		m.panics.safely("on_window", "the function of WithOnWindow", func() { m.requests.onWindow(w, s) })
	}
}

// evidence collects what the sources said about a batch of windows, and cuts it
// to one window at a time. Its memory is used again.
type evidence struct {
	m *Monitor

	stops      timeline.Stops // of the whole batch, as the rest
	host       timeline.Intervals
	hosts      []stall.Interval // memory of host
	targetSeen []stall.Span

	one stall.Evidence // of one window
}

// gather reads the logs once for all windows of a batch.
func (e *evidence) gather(all stall.Span) {
	m := e.m
	m.store.setProcessors(runtime.GOMAXPROCS(0))
	m.timeline.Read(&e.stops, all)
	e.hosts = m.machine.board.Log.Intervals(e.hosts[:0], all)
	e.host.Set(e.hosts)
	e.targetSeen = m.machine.board.Watched.Seen(e.targetSeen[:0], all)
}

// of returns the evidence about a window, or a piece of one, which had a slot
// from when it was held to until. By has the goroutines that carried it up to the
// piece, and is brought up to date. It is valid until the next call.
func (e *evidence) of(w *stall.Window, slot int16, had stall.Span, by *carrier) *stall.Evidence {
	extent := w.Extent()
	e.one.Process = e.stops.In(extent)
	e.one.Host = e.host.Near(extent)
	e.one.Seen = e.stops.Seen(extent)
	e.one.TargetSeen = timeline.Near(e.targetSeen, extent)
	e.one.Track, e.one.Own = e.one.Track[:0], e.one.Own[:0]
	if slot != window.NoSlot {
		e.m.store.follow(&e.one, w, slot, had, by)
	}
	if extent.Start < e.stops.ExactFloor {
		e.forget(e.stops.ExactFloor)
	}
	for i := range e.one.Own {
		if v := &e.one.Own[i]; v.Cause.IsGC() {
			v.Ref = e.stops.Collection(v.Start)
		}
	}
	return &e.one
}

// forget takes off what is known of the goroutine before t. Which stops there were is
// forgotten, and a wait may have been for one of them.
func (e *evidence) forget(t stall.Instant) {
	own, track := e.one.Own[:0], e.one.Track[:0]
	for _, v := range e.one.Own {
		if v.Start = max(v.Start, t); v.Start < v.End {
			own = append(own, v)
		}
	}
	for _, v := range e.one.Track {
		if v.Start = max(v.Start, t); v.Start < v.End {
			track = append(track, v)
		}
	}
	e.one.Own, e.one.Track = own, track
}

// settling is how long after a stop it is not known yet whether a goroutine slept
// through it, see [stall.Joiner], and more.
const settling = 100 * time.Microsecond

// quiet returns the last instant up to t at which nothing that stalls the whole
// process or the machine may be going on, or just over: a window that is cut
// there loses no certainty.
func (e *evidence) quiet(t stall.Instant) stall.Instant {
	for _, near := range []func(stall.Span) []stall.Interval{e.stops.All, e.host.Near, e.stops.All} {
		list := near(stall.Span{Start: t.Add(-settling), End: t + 1})
		for i := range slices.Backward(list) {
			v := &list[i]
			if from, to := v.Start.Add(-v.Slack), v.End.Add(v.Slack); from < t && t < to.Add(settling) {
				t = from
			}
		}
	}
	return t
}

// lengths counts windows by the bit length of their duration, halved now and then,
// so that slices can be longer than nearly all windows.
type lengths [64]uint64

// note counts a window that took d.
func (l *lengths) note(d time.Duration) {
	i := bits.Len64(uint64(max(d, 0)))
	l[i]++
	if l[i] > 1<<20 {
		for k := range l {
			l[k] /= 2
		}
	}
}

// nearlyAll returns what 99.9 % of the windows take, at most twice too much.
func (l *lengths) nearlyAll() time.Duration {
	var sum, total uint64
	for _, n := range l {
		total += n
	}
	for i, n := range l {
		sum += n
		if sum*1000 >= total*999 {
			return time.Duration(uint64(1)<<i - 1)
		}
	}
	return 0
}

const (
	// cutEvery is how often what lasts is settled while a slice is traced: as
	// often as there is a generation to be given back.
	cutEvery = time.Second
	// cutSeldom is how often it is between slices, where there is little to say
	// of a window, and the logs hold it for long.
	cutSeldom = 5 * time.Second
	// cutLate is when a cut is made though it costs certainty.
	cutLate = 2 * cutEvery
)

// long is what is known of a window that lasts, up to the last cut.
type long struct {
	window.Open
	upTo  stall.Instant
	by    carrier
	share stall.Share
}

// longs settles windows that last, piece by piece, so that nothing has to be
// kept of their past: memory for a stream of hours is that for one of seconds.
//
// A cut is made at an instant that all sources have passed. The windows that are
// open then are settled up to it; those that have ended since are in the queues,
// and need the generations before the cut until they are resolved: when the sources
// have passed the instant at which the cut was made, and the queues have given up
// what had come by then.
type longs struct {
	m    *Monitor
	of   map[int16]*long
	cut  stall.Instant
	made stall.Instant // when the cut was; 0 when everything before it is given back
	came arrivals      // by then
	open []window.Open
}

// settle makes a cut if it is time for one. The windows that ended by due have
// been resolved.
func (l *longs) settle(r *resolver, now, due stall.Instant) {
	if l.made != 0 && due > l.made && l.m.took(l.came) {
		l.giveBack()
	}
	if l.made != 0 || due.Sub(l.cut) < cutEvery {
		return
	}
	if due.Sub(l.cut) < cutSeldom && !l.m.store.unsettled(due) {
		return
	}
	l.open = l.m.windows.slots.AppendOpen(l.open[:0], due)
	at := due
	if len(l.open) > 0 {
		r.evidence.gather(stall.Span{Start: l.begin(due), End: due})
		if at = r.evidence.quiet(due); at <= l.cut || due.Sub(at) > cutLate {
			at = due
		}
	}
	for _, w := range l.open {
		if w.Start < at {
			l.piece(r, w, at, now)
			r.pace.Breathe()
		}
	}
	l.cut, l.made, l.came = at, now, l.m.came()
}

// begin returns where the first piece begins.
func (l *longs) begin(due stall.Instant) stall.Instant {
	first := due
	for _, w := range l.open {
		if known := l.known(w); known != nil {
			first = min(first, known.upTo)
		} else {
			extent := w.Window(nil).Extent()
			first = min(first, extent.Start)
		}
	}
	return first
}

func (l *longs) known(w window.Open) *long {
	if known := l.of[w.Slot]; known != nil && known.Held == w.Held {
		return known
	}
	return nil
}

// piece settles a window up to at. Its marks are those up to now.
func (l *longs) piece(r *resolver, w window.Open, at, now stall.Instant) {
	p := w.Window(l.m.place)
	known := l.known(w)
	if known == nil {
		known = &long{Open: w}
		l.of[w.Slot] = known
	} else {
		p.Start, p.Arrival = known.upTo, 0
	}
	p.End = at
	r.join(p, w.Slot, stall.Span{Start: w.Held, End: now}, known)
	known.upTo = at
}

// take returns what is known of a window that has ended, nil if it is settled in
// one piece.
func (l *longs) take(e *window.Ended) *long {
	if e.Slot == window.NoSlot {
		return nil
	}
	known := l.of[e.Slot]
	if known == nil || known.Held != e.Held {
		return nil
	}
	delete(l.of, e.Slot)
	if known.Start != e.Start || known.Arrival != e.Arrival || known.upTo > e.End {
		return nil // its caller, who keeps the times, has changed them
	}
	return known
}

// giveBack gives up what is before the cut. Of the windows that were not open at
// the cut, all that were taken have been resolved.
func (l *longs) giveBack() {
	l.m.store.settled(l.cut)
	for slot, known := range l.of {
		if known.upTo < l.cut {
			delete(l.of, slot)
		}
	}
	l.made = 0
}
