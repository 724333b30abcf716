package senders

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// firstPauses and mostPauses are for how many pauses there is room, at first and
// at most.
const (
	firstPauses = 8
	mostPauses  = 1024
	pauseBytes  = 48 // on the heap
)

// PauseLog says which collections stopped a process. Joins may read it while it
// is written.
type PauseLog struct {
	Memory *budget.Memory
	Bytes  int // that the budget counts for them

	mu   sync.Mutex
	list []pause // by start and index, the youngest
}

// pause says which collection a stop was for.
type pause struct {
	stall.Span
	most  stall.Instant // up to where it may have lasted
	slack time.Duration
	index uint64 // 0 if it is not known
	kind  gc.Kind
}

// Note keeps the pauses of a collection.
func (p *PauseLog) Note(e *wire.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := 0
	for i := range e.Intervals {
		if p.fresh(pauseOf(e, i)) {
			fresh++
		}
	}
	p.makeRoom(fresh)
	for i := range e.Intervals {
		q := pauseOf(e, i)
		if !p.fresh(q) {
			continue
		}
		at, _ := p.find(q)
		if len(p.list) == cap(p.list) {
			if at == 0 {
				continue // it is the oldest, and goes
			}
			p.list = slices.Delete(p.list, 0, 1)
			at--
		}
		p.list = slices.Insert(p.list, at, q)
	}
}

// pauseOf returns the stop of a stall of a collection.
func pauseOf(e *wire.Event, i int) pause {
	v := &e.Intervals[i]
	q := pause{v.Span(), v.End, v.Slack, v.Ref, e.Kind}
	if i < len(e.EndMax) {
		q.most = e.EndMax[i]
	}
	return q
}

// fresh reports whether a pause is one, and not kept yet.
func (p *PauseLog) fresh(q pause) bool {
	_, found := p.find(q)
	return !found && q.Start < q.most
}

// makeRoom makes room for so many more, if need be in place of the oldest.
func (p *PauseLog) makeRoom(more int) {
	if more == 0 || len(p.list)+more <= cap(p.list) {
		return
	}
	if p.Memory.Plenty() && p.grow(more) {
		return
	}
	if n := len(p.list); n > 0 {
		old, _ := p.search(p.list[n-1].Start - p.Memory.Back)
		p.list = slices.Delete(p.list, 0, old)
	}
	switch n := len(p.list) + more; {
	case n > cap(p.list):
		if !p.grow(more) {
			p.list = slices.Delete(p.list, 0, min(len(p.list), n-cap(p.list)))
		}
	case n <= cap(p.list)/4:
		p.resize(max(firstPauses, cap(p.list)/2))
	}
}

// grow makes room for so many more. It reports false if there is none.
func (p *PauseLog) grow(more int) bool {
	n := max(firstPauses, cap(p.list))
	for n < len(p.list)+more {
		n *= 2
	}
	return p.resize(n)
}

// resize makes room for so many, if there is that much.
func (p *PauseLog) resize(n int) bool {
	more := (n - cap(p.list)) * pauseBytes
	if n > mostPauses || more > 0 && !p.Memory.Grow(more) {
		return false
	}
	if more < 0 {
		p.Memory.Forget(-more)
	}
	p.Bytes += more
	p.list = append(make([]pause, 0, n), p.list...)
	return true
}

// find returns the place of a pause, and whether it is there.
func (p *PauseLog) find(q pause) (int, bool) {
	return slices.BinarySearchFunc(p.list, q, func(a, b pause) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.index, b.index))
	})
}

// search returns the place of the first pause that begins at t or later, and whether
// one begins at t.
func (p *PauseLog) search(t stall.Instant) (int, bool) {
	return slices.BinarySearchFunc(p.list, t, startOfPause)
}

func startOfPause(p pause, t stall.Instant) int { return cmp.Compare(p.Start, t) }

// In returns the pauses that may overlap s, in the memory of dst.
func (p *PauseLog) In(dst Pauses, s stall.Span) Pauses {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, _ := p.search(s.Start - semconv.MaxStall)
	to, _ := p.search(s.End)
	dst.List, dst.longest = append(dst.List[:0], p.list[from:to]...), 0
	for _, q := range dst.List {
		dst.longest = max(dst.longest, q.End-q.Start)
	}
	return dst
}

// Pauses are the pauses of some stretch of time.
type Pauses struct {
	List    []pause // by start
	longest stall.Instant
	Off     time.Duration // how far the clock of the spans may be off
}

// Kind returns the gravest kind of the collections that stopped the process in s for
// certain: those that a join can charge.
func (p *Pauses) Kind(s stall.Span) (kind gc.Kind) {
	for _, q := range p.near(s) {
		v := stall.Interval{Start: q.Start, End: q.End, Slack: q.slack + p.Off}
		if !v.Certain(s).Empty() {
			kind = max(kind, q.kind)
		}
	}
	return kind
}

// Gravest returns the gravest kind of the collections that stopped the process in s, as
// far as is known. The process itself has said that there were some.
func (p *Pauses) Gravest(s stall.Span) (kind gc.Kind) {
	for _, q := range p.near(s) {
		if !q.Clip(s).Empty() {
			kind = max(kind, q.kind)
		}
	}
	return kind
}

// Doubts appends to dst what may have been of a stop or not, after its end: nothing of
// it is certain, wherever it lies in a span.
func (p *Pauses) Doubts(dst []stall.Interval) []stall.Interval {
	for _, q := range p.List {
		if q.End < q.most {
			dst = append(dst, stall.Interval{Start: q.End, End: q.most, Slack: wire.Farthest / 4, Cause: stall.GCPause, CPU: -1})
		}
	}
	return dst
}

// near returns the pauses of which any may nominally lie in s. What is certain of a
// pause lies there, too.
func (p *Pauses) near(s stall.Span) []pause {
	from, _ := slices.BinarySearchFunc(p.List, s.Start-p.longest, startOfPause)
	to, _ := slices.BinarySearchFunc(p.List, s.End, startOfPause)
	return p.List[from:max(from, to)]
}
