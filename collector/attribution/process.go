package attribution

import (
	"cmp"
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// keptPauses is how many pauses are known by their collection.
	keptPauses = 1024
	// processBytes is about what a process or a host takes beside its sources:
	// its pauses or its wall clock, and its names, in every index.
	processBytes = 48 << 10
)

// logs holds the sources of a process.
type logs [stall.NumSources]*sourceLog

// process is what is known of one process, or of what the machine does to one.
type process struct {
	host    *host
	id      identity
	outer   int32         // the pid that the sidecar sees, 0 if it has not told
	born    uint64        // of a target: clock ticks since boot, 0 if not told
	target  bool          // it is in host.targets
	runtime logs          // of a target, TargetWatch alone
	told    stall.Instant // by any of its sources
	pauses  pauses
	bytes   int
	place   *list.Element // in host.processes
}

// inside reports whether a source in the process itself has told of it.
func (p *process) inside() bool {
	return p.runtime[stall.GCWatch] != nil || p.runtime[stall.GoTrace] != nil
}

// pauses says which collections stopped a process. It may be read by who joins
// while it is written.
type pauses struct {
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
		at, found := p.search(stalls[i].Start)
		if found {
			continue
		}
		p.list = slices.Insert(p.list, at, pause{stalls[i].Span(), index, kind})
	}
	if over := len(p.list) - keptPauses; over > 0 {
		p.list = slices.Delete(p.list, 0, over)
	}
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

// sameBirth reports whether a process made at created, as otelgc tells it, may
// be the one made so many clock ticks after the boot: the boot is a whole second
// there, so what is left of one is the same in both.
func sameBirth(created string, ticks uint64) bool {
	const userHZ = 100 // of /proc on every Linux
	if created == "" || ticks == 0 {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, created)
	return err != nil || uint64(t.Nanosecond())/(1e9/userHZ) == ticks%userHZ
}
