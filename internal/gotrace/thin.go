package gotrace

import "slices"

// thin makes room among the transitions when there are as many as the limit
// allows for: a program that forces collections yields once for each span that
// it sweeps. Those of goroutines without a user log so far go, as in general
// nobody will ask for them; if that is not enough, those of goroutines that have
// very many, too.
//
// Of a goroutine that lost some and is followed after all, only what has a
// sequence number above theirs is known: nothing is missing from there on. That
// nobody may be misled by what is known of it from before, its number is kept.
func (d *decoder) thin() {
	p := &d.picker
	p.who = p.who[:0]
	for g := range d.followed {
		p.who = append(p.who, g)
	}
	for g := range d.standNext {
		p.who = append(p.who, g)
	}
	for i := range d.logs {
		if g := d.logs[i].g; g != 0 {
			p.who = append(p.who, g)
		}
	}
	slices.Sort(p.who)
	p.who = slices.Compact(p.who)
	p.table.build(p.who)
	p.count = zeroed(p.count, len(p.who))
	kept := 0
	d.transitions.each(func(chunk []transition) {
		for i := range chunk {
			if who, ok := p.table.find(chunk[i].g); ok {
				p.count[who]++
				kept++
			}
		}
		d.breathe()
	})
	most := kept
	if 2*kept > d.limits.Transitions {
		most = d.limits.Transitions / 8
	}
	d.thinTo(uint32(most))
}

// thinTo keeps the transitions of goroutines that the picker has, and that have
// at most so many.
func (d *decoder) thinTo(most uint32) {
	p, l, n := &d.picker, &d.transitions, uint32(0)
	l.each(func(chunk []transition) {
		for i := range chunk {
			t := chunk[i]
			who, ok := p.table.find(t.g)
			switch {
			case ok && p.count[who] <= most:
				*l.at(n) = t
				n++
			case ok || t.seq > 0:
				// Those with number 0 are in order, on one thread: of a goroutine
				// that was not followed, it is enough to be without them.
				d.dropped(t.g, t.seq)
			}
		}
		d.breathe()
	})
	l.cut(int(n))
}

// dropped notes that a goroutine lost a transition.
func (d *decoder) dropped(g uint64, seq uint32) {
	old, known := d.thinned[g]
	switch {
	case known && old >= seq:
	case !known && len(d.thinned) >= d.limits.Followed:
		d.lost.Transitions++ // whose states are whole is not known any more
	default:
		d.thinned[g] = seq
	}
}
