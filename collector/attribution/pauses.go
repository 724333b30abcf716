package attribution

import (
	"cmp"
	"slices"
	"sync"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// firstPauses and mostPauses are for how many pauses there is room, at first and
// at most.
const (
	firstPauses = 8
	mostPauses  = 1024
)

// pauses says which collections stopped a process. It may be read by who joins
// while it is written.
type pauses struct {
	memory *memory
	bytes  int // that the account has for them

	mu   sync.Mutex
	list []pause // by start, the youngest
}

// pause says which collection a stop was for.
type pause struct {
	stall.Span
	index int64
	kind  gc.Kind
}

// note keeps the pauses of a collection.
func (p *pauses) note(stalls []stall.Interval, index int64, kind gc.Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range stalls {
		v := pause{stalls[i].Span(), index, kind}
		if _, found := p.search(v.Start); found || v.Empty() {
			continue
		}
		room := len(p.list) < cap(p.list) || p.makeRoom()
		at, _ := p.search(v.Start)
		if !room {
			if at == 0 {
				continue // it is the oldest, and goes
			}
			p.list = slices.Delete(p.list, 0, 1)
			at--
		}
		p.list = slices.Insert(p.list, at, v)
	}
}

// makeRoom makes room for one more. It reports false if the oldest has to go.
func (p *pauses) makeRoom() bool {
	n := len(p.list)
	switch {
	case n == 0:
		return p.resize(firstPauses)
	case p.memory.plenty() && p.resize(2*n):
		return true
	}
	old, _ := p.search(p.list[n-1].Start - p.memory.back)
	p.list = slices.Delete(p.list, 0, old)
	switch n = len(p.list); {
	case n == cap(p.list):
		return p.resize(2 * n)
	case n <= cap(p.list)/4:
		p.resize(max(firstPauses, cap(p.list)/2))
	}
	return true
}

// resize makes room for so many, if there is that much.
func (p *pauses) resize(n int) bool {
	more := (n - cap(p.list)) * pauseBytes
	if n > mostPauses || more > 0 && !p.memory.grow(more) {
		return false
	}
	if more < 0 {
		p.memory.forget(-more)
	}
	p.bytes += more
	p.list = append(make([]pause, 0, n), p.list...)
	return true
}

func (p *pauses) search(t stall.Instant) (int, bool) {
	return slices.BinarySearchFunc(p.list, t, startOfPause)
}

func startOfPause(p pause, t stall.Instant) int { return cmp.Compare(p.Start, t) }

// in returns the pauses that may overlap s, in the memory of dst.
func (p *pauses) in(dst pausesOf, s stall.Span) pausesOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, _ := p.search(s.Start - longest)
	to, _ := p.search(s.End)
	dst.list, dst.longest = append(dst.list[:0], p.list[from:to]...), 0
	for _, q := range dst.list {
		dst.longest = max(dst.longest, q.End-q.Start)
	}
	return dst
}

// pausesOf are the pauses of some stretch of time.
type pausesOf struct {
	list    []pause // by start
	longest stall.Instant
}

// collections returns how many collections stopped the process in s, and the
// gravest kind of them.
func (p *pausesOf) collections(s stall.Span) (n int, kind gc.Kind) {
	last := int64(-1)
	from, _ := slices.BinarySearchFunc(p.list, s.Start-p.longest, startOfPause)
	for _, q := range p.list[from:] {
		if q.Start >= s.End {
			break
		}
		if q.End > s.Start && (q.index == 0 || q.index != last) {
			n, last, kind = n+1, q.index, max(kind, q.kind)
		}
	}
	return n, kind
}
