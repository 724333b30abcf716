package gotrace

import (
	"cmp"
	"slices"
)

// handoff is when a thread got a P or lost it.
type handoff struct {
	at     ticks
	thread uint64
	took   bool
}

// maxHandoffs bounds those of a generation, 6 MB: 260,000 a second.
const maxHandoffs = 1 << 18

// handoff notes that a thread got a P or lost it. Over the limit nothing is known
// of this generation: its stops end with their EvSTWEnd.
func (d *decoder) handoff(thread uint64, at ticks, took bool) {
	if len(d.handoffs) < min(maxHandoffs, d.limits.Records) {
		d.handoffs = append(d.handoffs, handoff{at, thread, took})
	} else {
		d.lost.Handoffs++
	}
}

// restarts finds when each stop was over for others than who made it: when
// another thread got a P again. EvSTWEnd comes later, by milliseconds where its
// thread loses the CPU in between.
//
// In a stop there is an instant at which no other thread has a P: where the sum
// of what the others took and lost since the stop began is least, whatever they
// had then. The first P that is taken after the last such instant is the restart.
// EvGCEnd is written at such an instant (runtime/mgc.go, gcMarkTermination): in a
// stop that has it, the first after it is.
func (d *decoder) restarts() {
	if len(d.stops) == 0 || d.lost.Handoffs > 0 {
		return
	}
	slices.SortFunc(d.stops, func(a, b doneStop) int { return cmp.Compare(a.end, b.end) })
	d.handoffsInStops()
	d.sortEnds()
	rest, passed := d.handoffs, ticks(0)
	for i := range d.stops {
		s := &d.stops[i]
		if s.begin.older || s.begin.at < passed {
			continue // stops follow one another: here something is missing
		}
		rest = rest[before(rest, s.begin.at):]
		n := before(rest, s.end)
		s.restart, passed = restartIn(rest[:n], s.thread, gcEndIn(d.ends, s.begin.at, s.end)), s.end
		rest = rest[n:]
	}
}

// handoffsInStops keeps those that fall into a stop, a few of very many, in order.
func (d *decoder) handoffsInStops() {
	kept := d.handoffs[:0]
	for i, h := range d.handoffs {
		k, _ := slices.BinarySearchFunc(d.stops, h.at+1, func(s doneStop, t ticks) int { return cmp.Compare(s.end, t) })
		if k < len(d.stops) && d.stops[k].begin.at <= h.at {
			kept = append(kept, h)
		}
		if i%(1<<14) == 0 {
			d.breathe()
		}
	}
	slices.SortStableFunc(kept, func(a, b handoff) int { return cmp.Compare(a.at, b.at) })
	d.handoffs = kept
	d.breathe()
}

// sortEnds notes when collections ended.
func (d *decoder) sortEnds() {
	d.ends = d.ends[:0]
	for i := range d.cycles {
		if d.cycles[i].typ == evGCEnd {
			d.ends = append(d.ends, d.cycles[i].at)
		}
	}
	slices.Sort(d.ends)
}

// before returns how many of the ordered list lie before t.
func before(list []handoff, t ticks) int {
	n, _ := slices.BinarySearchFunc(list, t, func(h handoff, t ticks) int { return cmp.Compare(h.at, t) })
	return n
}

// gcEndIn returns the first of the ordered ends that lies between from and to, 0
// if none does.
func gcEndIn(ends []ticks, from, to ticks) ticks {
	if i, _ := slices.BinarySearch(ends, from); i < len(ends) && ends[i] < to {
		return ends[i]
	}
	return 0
}

// restartIn returns when another thread than that of the stop had a P again, 0
// if none had. Stopped is an instant of the stop at which none had, 0 if none is
// known.
func restartIn(list []handoff, thread uint64, stopped ticks) (restart ticks) {
	had, least := 0, 0
	for _, h := range list {
		switch {
		case h.thread == thread:
		case h.took:
			if restart == 0 && h.at > stopped {
				restart = h.at
			}
			had++
		default:
			if had--; had <= least && stopped == 0 {
				least, restart = had, 0
			}
		}
	}
	return restart
}
