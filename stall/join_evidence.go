package stall

import "sort"

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
