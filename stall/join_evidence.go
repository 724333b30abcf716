package stall

import (
	"slices"
	"sort"
)

// addProcess adds what stopped the whole process, and counts the pauses.
func (j *Joiner) addProcess(list []Interval, extent Span, s *Share) {
	j.stops, j.pauses = j.stops[:0], j.pauses[:0]
	j.scratch = j.process.overlaps(j.scratch[:0], extent)
	for _, i := range j.scratch {
		v := &list[i]
		if !v.Cause.IsStop() {
			continue
		}
		certain := j.addClaim(v, fact(v.Cause), doubtfulStop)
		j.stops = append(j.stops, i)
		if v.Cause == GCPause {
			s.Pauses++
			j.addPause(i, v, certain)
		}
	}
}

// addOwn adds what happened to the goroutine.
func (j *Joiner) addOwn(list []Interval, extent Span) {
	j.scratch = j.own.overlaps(j.scratch[:0], extent)
	for _, i := range j.scratch {
		switch v := &list[i]; {
		case v.Cause == GCPause || v.Cause == RuntimeSuspension:
			j.sweep.add(stopper, v.Span())
		case v.Cause == RuntimeUnknown:
			j.addClaim(v, fact(v.Cause), doubtfulStop)
		case v.Cause < NumCauses && ownFacts.has(fact(v.Cause)):
			j.addClaim(v, fact(v.Cause), doubtfulOwn)
		}
	}
}

// addClaim adds a claim, and returns what of it is certain.
func (j *Joiner) addClaim(v *Interval, claim, doubt fact) Span {
	certain := v.Certain(j.sweep.extent)
	j.sweep.add(claim, certain)
	if v.slack() > 0 {
		j.sweep.add(doubt, v.Span())
	}
	return certain
}

func (j *Joiner) addSpans(c *cursor, f fact) {
	j.scratch = c.overlaps(j.scratch[:0], j.sweep.extent)
	for _, i := range j.scratch {
		j.sweep.add(f, c.spans[i])
	}
}

// addTrack adds the states of the goroutine, and where it woke from a parking
// in a stop or right after.
func (j *Joiner) addTrack(e *Evidence, extent Span) {
	j.parked = j.parked[:0]
	ordered, end := true, Instant(-1<<63)
	j.scratch = j.track.overlaps(j.scratch[:0], extent)
	j.tracked = len(j.scratch) > 0
	for _, i := range j.scratch {
		v := j.track.spans[i]
		switch e.Track[i].State {
		case StateRunning:
			j.sweep.add(running, v)
		case StateRunnable:
			j.sweep.add(runnable, v)
		case StateParked:
			j.sweep.add(parked, v)
			j.parked = append(j.parked, i)
			ordered = ordered && end <= v.Start
			end = v.End
		}
	}
	for _, i := range j.stops {
		j.addWoke(&e.Process[i], ordered)
	}
}

func (j *Joiner) addWoke(stop *Interval, ordered bool) {
	end := stop.End.plus(stop.slack()).plus(wakeupGrace)
	first := 0
	if ordered {
		first = sort.Search(len(j.parked), func(k int) bool {
			return j.track.spans[j.parked[k]].End > stop.Start
		})
	}
	for _, i := range j.parked[first:] {
		v := j.track.spans[i]
		if ordered && v.Start >= stop.End {
			return
		}
		if v.End <= end {
			j.sweep.add(woke, v.Clip(stop.Span()))
		}
	}
}

// cursor finds the items of a list that overlap spans. It visits every item
// that is over once and no more, even if older ones still last, as it unlinks
// what is over.
type cursor struct {
	spans  []Span
	next   []int32 // index of the next item that may still matter
	head   int32
	sorted bool    // by start: later items need no look
	from   Instant // items that end before it may be unlinked
}

// load fills c with the spans of list, and keeps nothing of it.
func load[T any](c *cursor, list []T, span func(*T) Span) {
	c.spans, c.next, c.sorted = c.spans[:0], c.next[:0], true
	for i := range list {
		s := span(&list[i])
		if i > 0 && s.Start < c.spans[i-1].Start {
			c.sorted = false
		}
		c.spans = append(c.spans, s)
		c.next = append(c.next, 0)
	}
	c.rewind()
}

func (c *cursor) rewind() {
	for i := range c.next {
		c.next[i] = int32(i + 1)
	}
	c.head = 0
	c.from = -1 << 63
}

// overlaps appends to dst the indices of the items that overlap s, in the order
// of the list.
func (c *cursor) overlaps(dst []int32, s Span) []int32 {
	if s.Start < c.from {
		c.rewind()
	}
	c.from = s.Start
	link := &c.head
	for i := *link; int(i) < len(c.spans); i = *link {
		v := c.spans[i]
		if v.End <= s.Start || v.Empty() {
			*link = c.next[i]
			continue
		}
		if v.Start < s.End {
			dst = append(dst, i)
		} else if c.sorted {
			break
		}
		link = &c.next[i]
	}
	return dst
}

// addHost adds what probes saw of the machine.
func (j *Joiner) addHost(list []Interval, extent Span, place *Place) {
	j.scratch = j.host.overlaps(j.scratch[:0], extent)
	for _, i := range j.scratch {
		v := &list[i]
		switch {
		case !v.Cause.IsHost():
		case !v.Applies(place):
			j.sweep.add(coincident+fact(v.Cause-HostThrottled), v.Span())
		case v.Scope == ScopeTarget:
			j.addClaim(v, target+fact(v.Cause-HostThrottled), doubtfulHost)
		default:
			j.addClaim(v, fact(v.Cause), doubtfulHost)
		}
	}
}

// Applies reports whether what v says of the machine holds at p, which may be
// nil. A gap of one CPU never does, as the CPU of a goroutine is not known; nor
// does one of the process that saw it, as a probe in the same process stops
// with it.
func (v *Interval) Applies(p *Place) bool {
	switch v.Scope {
	case ScopeMachine:
		return true
	case ScopeCgroup:
		return p != nil && v.Owner.Cgroup != 0 && slices.Contains(p.Cgroups, v.Owner.Cgroup)
	case ScopeTarget:
		return p != nil && v.Owner.PID != 0 && v.Owner.PID == p.PID && v.Owner.Created == p.Created
	}
	return false
}
