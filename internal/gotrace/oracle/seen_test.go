package oracle

import (
	"cmp"
	"slices"

	"golang.org/x/exp/trace"
)

// seen is what the oracle says of one trace. Times are of the trace's clock,
// in nanoseconds.
type seen struct {
	stops, cycles, assists, sweeps []span
	spans                          map[uint64][]stateSpan // by goroutine
	marks                          []mark
	tasks                          []task
	heap                           int // samples
	generations                    []generation
}

// generation is where the oracle's nth generation begins.
type generation struct {
	start  int64
	offset int64 // to gotrace's instants
}

// snapshot takes the trace's clock for the shared one, unless the snapshot of both
// can only be of two clocks.
func (g *generation) snapshot(offset int64) {
	if offset >= 64 || offset < -1e9 {
		g.offset = offset
	}
}

type span struct {
	start, end int64
	g          uint64
	reason     string
	caller     string
	restart    int64 // of a stop: when another P ran again, 0 if none did
	// active: it was on when the trace began; cut: it was when the trace ended.
	active, cut bool
}

type stateSpan struct {
	start, end int64
	state      trace.GoState
	reason     string
	to         uint64 // the coroutine that it switched to
}

// task is the begin or the end of a user task.
type task struct {
	at            int64
	g, id, parent uint64
	name          string
	end           bool
}

type mark struct {
	at  int64
	g   uint64
	key string
}

// control returns the states of a goroutine, and of the coroutines that have its
// place, from one time to another.
func (s *seen) control(g uint64, from, to int64, depth int) (list []stateSpan) {
	first, _ := slices.BinarySearchFunc(s.spans[g], from, func(v stateSpan, t int64) int { return cmp.Compare(v.end, t+1) })
	for _, v := range s.spans[g][first:] {
		if v.start >= to {
			break
		}
		if v.start = max(v.start, from); v.start >= min(v.end, to) {
			continue
		}
		v.end = min(v.end, to)
		switch {
		case v.to == 0:
			list = append(list, v)
		case depth > 0:
			list = append(list, s.control(v.to, v.start, v.end, depth-1)...)
		}
	}
	return list
}
