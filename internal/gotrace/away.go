package gotrace

import "github.com/otelgc/otelgc/stall"

// away is where a goroutine's place is while it has switched to a coroutine.
type away struct {
	on   bool
	own  uint64         // the goroutine
	who  uint32         // the coroutine that has its place, by the picker's index
	next map[uint32]int // which of each coroutine's transitions comes next

	noted *[]Turn        // nil if turns are not wanted
	turns map[uint32]int // in noted, the last one of each coroutine
	since stall.Instant  // of who's turn
	again bool           // its turn goes on with its last one
	over  bool           // there was no room for a turn
}

// nobodyYet is the place of no transition: the generation begins.
const nobodyYet = ^uint32(0)

// leave gives away the place of a goroutine that has switched to a coroutine, by
// the transition at a place, or in an older generation.
func (l *layer) leave(t *Track, place uint32) {
	if place == nobodyYet && l.cur.away == 0 {
		return
	}
	if l.away == nil {
		l.away = &away{}
	}
	a := l.away
	a.on, a.own = true, t.Goroutine
	if a.next == nil {
		a.next, a.turns = map[uint32]int{}, map[uint32]int{}
	}
	if place != nobodyYet {
		l.hand(place)
		return
	}
	who, ok := l.d.picker.table.find(l.cur.away)
	state, known := l.d.standIns[l.cur.away]
	if _, lost := l.d.thinned[l.cur.away]; !ok || !known || lost {
		l.cur = followed{}
		return
	}
	a.who, a.since, l.cur = who, l.at, state
}

// hand gives the place to whom the transition switched. Where that is not known,
// nothing is.
func (l *layer) hand(place uint32) {
	a := l.away
	l.cur = followed{}
	who, ok := l.d.switchedTo(place)
	if !ok {
		return
	}
	list := l.d.picker.of(who)
	i := a.next[who]
	a.again = i < len(list) && list[i] == place+1
	for i < len(list) && list[i] != place+1 {
		i++
	}
	if a.next[who] = i + 1; i < len(list) {
		a.who, a.since, l.cur = who, l.at, l.d.after(l.d.transitions.at(place+1))
	}
}

// coroutines lays what those do that have the goroutine's place, until end, when
// it goes on itself, or the generation is over.
func (l *layer) coroutines(end stall.Instant, yield func(TrackSpan) bool) bool {
	a := l.away
	end = max(end, l.at)
	for l.cur.known {
		list := l.d.picker.of(a.who)
		i := a.next[a.who]
		if i >= len(list) {
			break
		}
		change := l.d.transitions.at(list[i])
		at := l.d.clock.instant(change.at)
		back := false
		switch c := change.change(); {
		case c.isStatus():
			a.next[a.who]++
			l.cur = l.cur.told(l.d.after(change))
			continue
		case c == switchedAway || c == endedSwitching:
			who, ok := l.d.switchedTo(list[i])
			back = ok && l.d.picker.who[who] == a.own
		}
		if at > end || at == end && !back {
			break
		}
		a.next[a.who]++
		if !l.until(at, yield) {
			return false
		}
		switch c := change.change(); {
		case back:
			l.note()
			l.cur = followed{}
		case c == switchedAway || c == endedSwitching:
			l.note()
			l.hand(list[i])
		default:
			if l.cur = l.d.after(change); c == ended {
				l.note()
				l.cur = followed{}
			}
		}
	}
	if !l.until(end, yield) {
		return false
	}
	l.note()
	return true
}

// note notes the turn that is over.
func (l *layer) note() {
	a := l.away
	if !l.cur.known || a.noted == nil {
		return
	}
	list := *a.noted
	if k, ok := a.turns[a.who]; ok && a.again {
		list[k].End = l.at
		return
	}
	if len(list) >= l.d.limits.Records {
		a.over = true
		return
	}
	a.turns[a.who] = len(list)
	*a.noted = append(list, Turn{stall.Span{Start: a.since, End: l.at}, l.d.picker.who[a.who], a.own})
}
