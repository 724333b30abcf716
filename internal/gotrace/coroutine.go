package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// A goroutine that switches to a coroutine, as iter.Pull has it, hands over its
// thread, and waits until it is switched to in its turn. Meanwhile its work is
// done by that coroutine, or by the one that it has switched to in turn: they stand in
// for it. So the Track of a goroutine goes on with their states.

// Turn is a time in which a coroutine stood in for a followed goroutine: its
// Ranges and Stops that begin there are those of For, too.
type Turn struct {
	stall.Span
	Coroutine, For uint64
}

// maxPairs bounds the pairs of goroutines of which one switched to the other.
const maxPairs = 1 << 16

// pair is a goroutine and one that it switched to.
type pair struct{ from, to uint64 }

func (a pair) compare(b pair) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// wantCoroutines adds to the picker's goroutines those that they switch to.
func (d *decoder) wantCoroutines() {
	p := &d.picker
	d.findPairs()
	wanted := make(map[uint64]struct{}, len(p.ids)+len(d.standIns))
	for _, g := range p.ids {
		wanted[g] = struct{}{}
	}
	want := func(g uint64) {
		if _, ok := wanted[g]; !ok {
			wanted[g] = struct{}{}
			p.ids = append(p.ids, g)
		}
	}
	for g := range d.standIns {
		want(g)
	}
	for i := 0; i < len(p.ids); i++ { // want appends
		from, _ := slices.BinarySearchFunc(d.pairs, pair{p.ids[i], 0}, pair.compare)
		for ; from < len(d.pairs) && d.pairs[from].from == p.ids[i]; from++ {
			want(d.pairs[from].to)
		}
	}
}

// findPairs notes which goroutine switched to which. Of very many pairs some are left
// out, counted: when they stood in is not known.
func (d *decoder) findPairs() {
	const recent = 1 << 8
	var known [recent]pair // most switches are between the same two
	var last transition
	d.pairs, d.pairsFull = d.pairs[:0], false
	if d.switches == 0 {
		return
	}
	d.transitions.each(func(chunk []transition) {
		for i := range chunk {
			t := chunk[i]
			if t.change() == switchedTo && last.leadsTo(&t) {
				new := pair{last.g, t.g}
				if k := &known[(new.from*31+new.to)%recent]; *k != new {
					*k = new
					d.addPair(new)
				}
			}
			last = t
		}
		d.breathe()
	})
	d.mergePairs()
}

// addPair adds a pair, which may be there already.
func (d *decoder) addPair(p pair) {
	switch {
	case d.pairsFull:
		if _, there := slices.BinarySearchFunc(d.pairs, p, pair.compare); !there {
			d.lost.Followed++
		}
	case len(d.pairs) < maxPairs:
		d.pairs = append(d.pairs, p)
	default:
		d.mergePairs()
		d.pairsFull = len(d.pairs) > maxPairs*3/4 // else they would be merged time and again
		d.addPair(p)
	}
}

func (d *decoder) mergePairs() {
	slices.SortFunc(d.pairs, pair.compare)
	d.pairs = slices.Compact(d.pairs)
}

// leadsTo reports whether the two transitions are one switch.
func (t *transition) leadsTo(next *transition) bool {
	c := t.change()
	return (c == switchedAway || c == endedSwitching) && next.change() == switchedTo && t.detail() == next.detail()
}

// switchedTo returns the target of the switch at a place, by the picker's index.
func (d *decoder) switchedTo(place uint32) (index uint32, ok bool) {
	if int(place)+1 >= d.transitions.len() {
		return 0, false
	}
	t, next := d.transitions.at(place), d.transitions.at(place+1)
	if !t.leadsTo(next) || next.g == unpicked {
		return 0, false
	}
	return uint32(next.g), true
}

// switches reports whether a coroutine stands in for the goroutine at any time.
func (t *Track) switches() bool {
	return t.before.away != 0 || t.d.switches > 0 && slices.ContainsFunc(t.picked, func(place uint32) bool {
		return t.d.transitions.at(place).change() == switchedAway
	})
}

// standIn goes over a track with coroutines, to know how long it gets and in
// what state it ends, and notes their turns. It reports false where there is no room
// for those: nothing is known of the goroutine then.
func (d *decoder) standIn(g *Generation, t *Track, last followed) (after followed, ok bool) {
	b := t.builder()
	b.away = &away{noted: &g.Turns}
	n, at := 0, stall.Instant(0)
	b.build(t, func(s TrackSpan) bool {
		if n > 0 && s.Start > at {
			n++
		}
		n, at = n+1, s.End
		return true
	})
	if b.away.over {
		return followed{}, false
	}
	t.Most = max(n, 1)
	if last.away = 0; b.away.on {
		last.away = unpicked
		if b.cur.known && b.cur.state != stall.StateUnknown {
			last.away = d.picker.ids[b.away.index]
			d.standNext[last.away] = b.cur
		}
	}
	return last, true
}

// sortTurns puts the turns in order.
func (g *Generation) sortTurns() {
	slices.SortFunc(g.Turns, func(a, b Turn) int {
		return cmp.Or(cmp.Compare(a.Coroutine, b.Coroutine), cmp.Compare(a.Start, b.Start))
	})
}

// away is where a goroutine's place is while it has switched to a coroutine.
type away struct {
	on    bool
	own   uint64         // the goroutine
	index uint32         // the coroutine that has its place, by the picker's index
	next  map[uint32]int // which of each coroutine's transitions comes next

	noted *[]Turn        // nil if turns are not wanted
	turns map[uint32]int // in noted, the last one of each coroutine
	since stall.Instant  // of its turn
	again bool           // its turn goes on with its last one
	over  bool           // there was no room for a turn
}

// noPlace is the place of no transition: the generation begins.
const noPlace = ^uint32(0)

// switchAway gives the goroutine's place to the coroutine that it switched to: by the
// transition at place, or in an older generation (noPlace).
func (b *spanBuilder) switchAway(t *Track, place uint32) {
	if place == noPlace && b.cur.away == 0 {
		return
	}
	if b.away == nil {
		b.away = &away{}
	}
	a := b.away
	a.on, a.own = true, t.Goroutine
	if a.next == nil {
		a.next, a.turns = map[uint32]int{}, map[uint32]int{}
	}
	if place != noPlace {
		b.handTo(place)
		return
	}
	index, ok := b.d.picker.table.find(b.cur.away)
	state, known := b.d.standIns[b.cur.away]
	if _, lost := b.d.thinned[b.cur.away]; !ok || !known || lost {
		b.cur = followed{}
		return
	}
	a.index, a.since, b.cur = index, b.at, state
}

// handTo gives the place to the coroutine that the transition switched to. If that is
// unknown, the state is unknown from here on.
func (b *spanBuilder) handTo(place uint32) {
	a := b.away
	b.cur = followed{}
	index, ok := b.d.switchedTo(place)
	if !ok {
		return
	}
	list := b.d.picker.of(index)
	i := a.next[index]
	a.again = i < len(list) && list[i] == place+1
	for i < len(list) && list[i] != place+1 {
		i++
	}
	if a.next[index] = i + 1; i < len(list) {
		a.index, a.since, b.cur = index, b.at, b.d.after(b.d.transitions.at(place+1))
	}
}

// coroutines yields the states of the coroutines that have the goroutine's place. At
// end the goroutine resumes, or the generation is over.
func (b *spanBuilder) coroutines(end stall.Instant, yield func(TrackSpan) bool) bool {
	a := b.away
	end = max(end, b.at)
	for b.cur.known {
		list := b.d.picker.of(a.index)
		i := a.next[a.index]
		if i >= len(list) {
			break
		}
		change := b.d.transitions.at(list[i])
		at := b.d.clock.instant(change.at)
		back := false
		switch c := change.change(); {
		case c.isStatus():
			a.next[a.index]++
			b.cur = b.cur.withStatus(b.d.after(change))
			continue
		case c == switchedAway || c == endedSwitching:
			index, ok := b.d.switchedTo(list[i])
			back = ok && b.d.picker.ids[index] == a.own
		}
		if at > end || at == end && !back {
			break
		}
		a.next[a.index]++
		if !b.until(at, yield) {
			return false
		}
		switch c := change.change(); {
		case back:
			b.note()
			b.cur = followed{}
		case c == switchedAway || c == endedSwitching:
			b.note()
			b.handTo(list[i])
		default:
			if b.cur = b.d.after(change); c == ended {
				b.note()
				b.cur = followed{}
			}
		}
	}
	if !b.until(end, yield) {
		return false
	}
	b.note()
	return true
}

// note records the turn that has ended, if turns are wanted.
func (b *spanBuilder) note() {
	a := b.away
	if !b.cur.known || a.noted == nil {
		return
	}
	list := *a.noted
	if k, ok := a.turns[a.index]; ok && a.again {
		list[k].End = b.at
		return
	}
	if len(list) >= b.d.limits.Records {
		a.over = true
		return
	}
	a.turns[a.index] = len(list)
	*a.noted = append(list, Turn{stall.Span{Start: a.since, End: b.at}, b.d.picker.ids[a.index], a.own})
}
