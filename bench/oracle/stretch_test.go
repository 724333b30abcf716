package oracle

import (
	"cmp"
	"slices"

	"golang.org/x/exp/trace"
)

// edge is an instant as x/exp/trace tells it, in nanoseconds of the shared
// clock. That reader moves an event which is not later than the one before it to
// a nanosecond after that; the trace's clock has ticks of 64 ns, so what lies
// between two ticks was moved. Then it happened at since or later.
type edge struct{ at, since int64 }

func (e edge) moved() bool { return e.since < e.at }

// stretch is a part of the trace in which something was so.
type stretch struct {
	start, end edge
	generation int           // that tells of its start, of a goroutine's state
	state      trace.GoState // of a goroutine
	reason     string        // why it left the CPU, or of a stop
	by         trace.GoID    // whose state it is, or who made a stop
	toCollect  bool          // it waits for others to begin a collection
	to         trace.GoID    // the coroutine that the goroutine switched to
}

// within cuts a stretch to another.
func (s stretch) within(o *stretch) stretch {
	if s.start.at < o.start.at {
		s.start = o.start
	}
	if s.end.at > o.end.at {
		s.end = o.end
	}
	return s
}

// union merges what overlaps.
func union(list []stretch) []stretch {
	var merged []stretch
	for _, s := range list {
		if n := len(merged); n > 0 && s.start.at <= merged[n-1].end.at {
			if s.end.at > merged[n-1].end.at {
				merged[n-1].end = s.end
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// reaching returns those of list that reach into from to to, or may. The list is
// in order and without overlap.
func reaching(list []stretch, from, to int64) []stretch {
	after := func(t int64) func(stretch, int64) int {
		return func(s stretch, _ int64) int { return cmp.Compare(s.end.at, t) }
	}
	first, _ := slices.BinarySearchFunc(list, from, after(from+1))
	last := first
	for last < len(list) && list[last].start.since < to {
		last++
	}
	return list[first:last]
}

// at returns the one of a few that holds t, nil if none does.
func at(list []stretch, t int64) *stretch {
	for i := range list {
		if list[i].start.at <= t && t < list[i].end.at {
			return &list[i]
		}
	}
	return nil
}
