package gotrace

import (
	"cmp"
	"math/bits"
	"slices"
)

// picked is a transition of a followed goroutine.
type picked struct {
	at   ticks
	seq  uint32
	what uint32 // see transition
	who  uint32 // index into picker.who
}

// picker selects the transitions of followed goroutines and puts them in the
// order of (goroutine, seq, arrival). It is linear: sequence numbers are dense,
// so they are counted instead of compared.
type picker struct {
	who       []uint64 // the followed goroutines, ascending
	table     goroutineTable
	count     []uint32 // transitions of each
	top       []uint32 // largest sequence number of each
	base      []uint32 // where the slots of each begin
	slots     []uint32 // per goroutine and sequence number
	list, tmp []picked
}

// run leaves the selected transitions in p.list.
func (p *picker) run(followed map[uint64]followed, all *transitions) {
	p.list, p.who = p.list[:0], p.who[:0]
	if len(followed) == 0 {
		return
	}
	for g := range followed {
		p.who = append(p.who, g)
	}
	slices.Sort(p.who)
	p.table.build(p.who)
	p.count = zeroed(p.count, len(p.who))
	p.top = zeroed(p.top, len(p.who))
	for _, chunk := range all.chunks {
		p.from(chunk)
	}
	p.from(all.last)
	if p.layOut() {
		p.scatter()
		return
	}
	slices.SortStableFunc(p.list, func(a, b picked) int {
		return cmp.Or(cmp.Compare(a.who, b.who), cmp.Compare(a.seq, b.seq))
	})
}

func (p *picker) from(chunk []transition) {
	for i := range chunk {
		t := &chunk[i]
		who, ok := p.table.find(t.g)
		if !ok {
			continue
		}
		p.count[who]++
		p.top[who] = max(p.top[who], t.seq)
		p.list = append(p.list, picked{t.at, t.seq, t.what, who})
	}
}

// layOut gives each goroutine its slots. It reports false if the sequence
// numbers of one are not dense: a broken trace.
func (p *picker) layOut() bool {
	p.base = zeroed(p.base, len(p.who))
	n := uint64(0)
	for i := range p.who {
		p.base[i] = uint32(n)
		if uint64(p.top[i]) > 2*uint64(p.count[i])+8 {
			return false
		}
		n += uint64(p.top[i]) + 1
	}
	p.slots = zeroed(p.slots, int(n))
	return true
}

func (p *picker) scatter() {
	for i := range p.list {
		t := &p.list[i]
		p.slots[p.base[t.who]+t.seq]++
	}
	sum := uint32(0)
	for i, n := range p.slots {
		p.slots[i] = sum
		sum += n
	}
	p.tmp = slices.Grow(p.tmp[:0], len(p.list))[:len(p.list)]
	for i := range p.list {
		t := &p.list[i]
		slot := &p.slots[p.base[t.who]+t.seq]
		p.tmp[*slot] = *t
		*slot++
	}
	p.list, p.tmp = p.tmp, p.list
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
