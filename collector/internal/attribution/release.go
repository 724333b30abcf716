package attribution

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// looks is how many spans' resources are looked up at a time, so that no event
// waits for long.
const looks = 64

// release joins what is ready, or everything, on all cores, and hands it on.
func (a *Attributor) release(now time.Time, all bool) {
	a.releasing.Lock()
	defer a.releasing.Unlock()
	ready := a.ready(now, all)
	workers := min(runtime.GOMAXPROCS(0), len(ready))
	for len(a.joiners) < workers {
		a.joiners = append(a.joiners, new(joiner))
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, j := range a.joiners[:workers] {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ready)); i = next.Add(1) - 1 {
				a.conclude(j, ready[i])
				ready[i] = nil // what was handed on is not ours to keep
			}
		})
	}
	wg.Wait()
}

// ready takes what is due.
func (a *Attributor) ready(now time.Time, all bool) (ready []*held) {
	waiting := a.held.all()
	if all {
		return waiting
	}
	kept := make([]*held, 0, len(waiting))
	for len(waiting) > 0 {
		some := waiting[:min(looks, len(waiting))]
		waiting = waiting[len(some):]
		a.mu.Lock()
		for _, h := range some {
			if h.overdue(now) || a.known.settled(h) {
				ready = append(ready, h)
			} else {
				kept = append(kept, h)
			}
		}
		a.mu.Unlock()
	}
	a.held.put(kept...)
	return ready
}

// overdue reports whether nobody waits any longer.
func (h *held) overdue(now time.Time) bool {
	return !now.Before(h.due) || h.batch != nil && h.batch.hurried.Load()
}

// settled reports whether nothing more is to come about h.
func (r *registry) settled(h *held) bool {
	r.look(h)
	return r.complete(h)
}

// conclude joins the spans of h and hands them on.
func (a *Attributor) conclude(j *joiner, h *held) {
	a.mu.Lock()
	if a.known.look(h); h.found.contested {
		a.known.lookAnew(h) // for the last time
	}
	f := h.found
	settled := a.known.complete(h)
	v := a.known.view(&f)
	a.mu.Unlock()
	switch {
	case f.ambiguous:
		a.lost.ambiguous.Add(uint64(h.n))
	case !v.known():
		a.lost.unknown.Add(uint64(h.n))
	case !settled:
		a.lost.timedOut.Add(uint64(h.n))
	}
	told := a.attribute(j, h, &v)
	if h.batch != nil {
		h.batch.joined(h, &j.sums, told) // who waits for it hands on
		return
	}
	if h.sink.Traces != nil {
		h.sink.Traces(h.whole)
	}
	if h.sink.Slow != nil && told.LogRecordCount() > 0 {
		h.sink.Slow(told)
	}
	a.account.handOn(h.n, h.bytes)
}
