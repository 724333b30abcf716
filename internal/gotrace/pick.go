package gotrace

import (
	"cmp"
	"math/bits"
	"slices"
)

// unpicked marks a transition that is not picked.
const unpicked = ^uint64(0)

// picker selects the transitions of some goroutines and puts them in the
// order of (goroutine, seq, arrival). It is linear: sequence numbers are dense,
// so they are counted instead of compared. The transitions stay where they are.
type picker struct {
	ids    []uint64 // whose transitions are wanted, ascending
	table  goroutineTable
	first  []int64  // sequence number of each from which on nothing is missing
	count  []uint32 // transitions of each
	from   []uint32 // where those of each begin in picked
	top    []uint32 // largest sequence number of each
	base   []uint32 // where the slots of each begin
	slots  []uint32 // per goroutine and sequence number
	picked []uint32 // the places of the transitions, in order
}

// run picks the transitions of ids. Those of one follow one another in picked.
func (p *picker) run(thinned map[uint64]uint32, all *transitions) {
	p.count, p.from, p.picked = p.count[:0], p.from[:0], p.picked[:0]
	if len(p.ids) == 0 {
		return
	}
	p.table.build(p.ids)
	p.first = slices.Grow(p.first[:0], len(p.ids))
	for _, g := range p.ids {
		first := int64(0)
		if seq, ok := thinned[g]; ok {
			first = int64(seq) + 1
		}
		p.first = append(p.first, first)
	}
	p.count = zeroed(p.count, len(p.ids))
	p.top = zeroed(p.top, len(p.ids))
	total := 0
	all.each(func(chunk []transition) { total += p.number(chunk) })
	p.picked = slices.Grow(p.picked[:0], total)[:total]
	at := uint32(0)
	for _, n := range p.count {
		p.from = append(p.from, at)
		at += n
	}
	if p.layOut() {
		p.scatter(all)
		return
	}
	p.sort(all)
}

// of returns the places of the transitions of ids[i], in order.
func (p *picker) of(i uint32) []uint32 {
	end := p.from[i] + p.count[i]
	return p.picked[p.from[i]:end:end]
}

// number leaves in each transition the index of its goroutine, or unpicked, and
// its sequence number since the first one. It returns how many are picked.
func (p *picker) number(chunk []transition) (n int) {
	for i := range chunk {
		t := &chunk[i]
		index, ok := p.table.find(t.g)
		if !ok || int64(t.seq) < p.first[index] {
			t.g = unpicked
			continue
		}
		t.g, t.seq = uint64(index), t.seq-uint32(p.first[index])
		p.count[index]++
		p.top[index] = max(p.top[index], t.seq)
		n++
	}
	return n
}

// layOut gives each goroutine its slots. It reports false if the sequence
// numbers of one are not dense: a broken trace.
func (p *picker) layOut() bool {
	p.base = zeroed(p.base, len(p.ids))
	n := uint64(0)
	for i := range p.ids {
		p.base[i] = uint32(n)
		if uint64(p.top[i]) > 2*uint64(p.count[i])+8 {
			return false
		}
		n += uint64(p.top[i]) + 1
	}
	p.slots = zeroed(p.slots, int(n))
	return true
}

func (p *picker) scatter(all *transitions) {
	all.each(func(chunk []transition) {
		for i := range chunk {
			if t := &chunk[i]; t.g != unpicked {
				p.slots[p.base[t.g]+t.seq]++
			}
		}
	})
	sum := uint32(0)
	for i, n := range p.slots {
		p.slots[i] = sum
		sum += n
	}
	at := uint32(0)
	all.each(func(chunk []transition) {
		for i := range chunk {
			if t := &chunk[i]; t.g != unpicked {
				slot := &p.slots[p.base[t.g]+t.seq]
				p.picked[*slot] = at
				*slot++
			}
			at++
		}
	})
}

// sort does what scatter does, where there may be holes.
func (p *picker) sort(all *transitions) {
	at := uint32(0)
	p.picked = p.picked[:0]
	all.each(func(chunk []transition) {
		for i := range chunk {
			if chunk[i].g != unpicked {
				p.picked = append(p.picked, at)
			}
			at++
		}
	})
	slices.SortStableFunc(p.picked, func(i, k uint32) int {
		a, b := all.at(i), all.at(k)
		return cmp.Or(cmp.Compare(a.g, b.g), cmp.Compare(a.seq, b.seq))
	})
}

// zeroed returns n zeros, in the memory of s if there is enough.
func zeroed(s []uint32, n int) []uint32 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// goroutineTable finds the index of a goroutine. It is asked once for every
// transition of a trace, which a map is too slow for.
type goroutineTable struct {
	keys  []uint64 // 0 where free; no goroutine has the id 0
	index []uint32
	shift int
}

func (t *goroutineTable) build(list []uint64) {
	size := bits.Len(uint(4*len(list) + 64))
	t.keys = slices.Grow(t.keys[:0], 1<<size)[:1<<size]
	clear(t.keys)
	t.index = zeroed(t.index, 1<<size)
	t.shift = 64 - size
	for i, g := range list {
		h := t.hash(g)
		for t.keys[h] != 0 {
			h = (h + 1) & (len(t.keys) - 1)
		}
		t.keys[h], t.index[h] = g, uint32(i)
	}
}

// hash spreads ids, which are nearly consecutive, by the golden ratio.
func (t *goroutineTable) hash(g uint64) int {
	return int(g * 0x9E3779B97F4A7C15 >> (t.shift & 63))
}

func (t *goroutineTable) find(g uint64) (uint32, bool) {
	keys := t.keys
	for h := t.hash(g) & (len(keys) - 1); ; h = (h + 1) & (len(keys) - 1) {
		switch keys[h] {
		case g:
			return t.index[h], true
		case 0:
			return 0, false
		}
	}
}

// thin makes room among the transitions when there are as many as the limit
// allows for: a program that forces collections yields once for each span that
// it sweeps. Those of goroutines without a user log or a task so far go, as in general
// they will not be followed; if that is not enough, those of goroutines that have
// very many, too.
//
// Of a goroutine that lost some and is followed after all, only what has a
// sequence number above theirs is known: nothing is missing from there on. Its
// number is kept, so that what is known of it from before does not mislead.
func (d *decoder) thin() {
	p := &d.picker
	p.ids = p.ids[:0]
	for g := range d.followed {
		p.ids = append(p.ids, g)
	}
	for g := range d.standNext {
		p.ids = append(p.ids, g)
	}
	for i := range d.logs {
		if g := d.logs[i].g; g != 0 {
			p.ids = append(p.ids, g)
		}
	}
	for i := range d.tasks {
		if u := &d.tasks[i]; u.root() && u.g != 0 {
			p.ids = append(p.ids, u.g)
		}
	}
	slices.Sort(p.ids)
	p.ids = slices.Compact(p.ids)
	p.table.build(p.ids)
	p.count = zeroed(p.count, len(p.ids))
	kept := 0
	d.transitions.each(func(chunk []transition) {
		for i := range chunk {
			if index, ok := p.table.find(chunk[i].g); ok {
				p.count[index]++
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
			index, ok := p.table.find(t.g)
			switch {
			case ok && p.count[index] <= most:
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
		d.lost.Transitions++ // it is not known any more which states are whole
	default:
		d.thinned[g] = seq
	}
}
