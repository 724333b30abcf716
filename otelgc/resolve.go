package otelgc

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	resolveEvery = 100 * time.Millisecond
	batchSize    = 4096
)

// resolver gives windows their shares when the sources have passed them.
type resolver struct {
	m        *Monitor
	batch    []ended
	evidence evidence
	joiner   stall.Joiner
	pace     pacer
	share    stall.Share

	// lengths counts windows by the bit length of their duration, halved now
	// and then, so that slices can be longer than nearly all windows.
	lengths [64]uint64
	slowest atomic.Int64
}

// passed returns the instant that every source has passed or missed its
// deadline for.
func (r *resolver) passed(now stall.Instant) stall.Instant {
	m := r.m
	t := min(m.book.log.Watermark(), m.cycle.log.Watermark())
	if m.host.alive(now) {
		t = min(t, m.host.log.Watermark())
	}
	return max(t, now.Add(-sourceDeadline))
}

// resolve gives their shares to the windows that are due.
func (r *resolver) resolve(now stall.Instant) {
	r.pace.begin()
	due := r.passed(now)
	r.drain(&r.m.pending, due)
	r.slowest.Store(int64(r.nearlyAll()))
	if r.m.hasten.Swap(false) {
		due = now.Add(sourceDeadline)
	}
	r.drain(&r.m.watched, due)
}

// drain resolves the windows of a queue that ended by due.
func (r *resolver) drain(p *pending, due stall.Instant) {
	for {
		r.batch = p.take(r.batch[:0], due, batchSize)
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
	windows := r.batch
	all := stall.Span{Start: windows[0].start, End: windows[0].end}
	for i := range windows {
		w := windows[i].window(nil)
		extent := w.Extent()
		all.Start, all.End = min(all.Start, extent.Start), max(all.End, extent.End)
		if windows[i].tell == nil {
			r.note(w.End.Sub(w.Start))
		}
	}
	r.evidence.gather(all)
	for i := range windows {
		w := windows[i].window(r.m.place)
		found := r.evidence.of(&w, windows[i].slot, windows[i].held)
		r.joiner.Join(&w, found, &r.share)
		if r.share.GC() > 0 {
			r.share.Collections = r.m.begins.count(&w, found)
		}
		r.m.conclude(&windows[i], &w, &r.share)
		r.pace.breathe()
	}
	clear(windows)
}

func (e *ended) window(place *stall.Place) stall.Window {
	return stall.Window{Start: e.start, End: e.end, Arrival: e.arrival, Receipt: e.receipt, Place: place}
}

// note counts the length of a window.
func (r *resolver) note(d time.Duration) {
	i := bits.Len64(uint64(max(d, 0)))
	r.lengths[i]++
	if r.lengths[i] > 1<<20 {
		for k := range r.lengths {
			r.lengths[k] /= 2
		}
	}
}

// nearlyAll returns what 99.9 % of the windows take, at most twice too much.
func (r *resolver) nearlyAll() time.Duration {
	var sum, total uint64
	for _, n := range r.lengths {
		total += n
	}
	for i, n := range r.lengths {
		sum += n
		if sum*1000 >= total*999 {
			return time.Duration(uint64(1)<<i - 1)
		}
	}
	return 0
}
