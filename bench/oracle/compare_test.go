package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// verdict counts windows.
type verdict struct {
	agreed, unseen, outside, unknown, blurred, mute int
	time                                            map[owner]int64
	events, moved                                   int
}

func (v *verdict) add(o verdict) {
	v.agreed += o.agreed
	v.unseen += o.unseen
	v.outside += o.outside
	v.unknown += o.unknown
	v.blurred += o.blurred
	v.mute += o.mute
	v.events += o.events
	v.moved += o.moved
	if v.time == nil {
		v.time = map[owner]int64{}
	}
	for k, d := range o.time {
		v.time[k] += d
	}
}

func (v *verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d windows agree to %v; %d not seen whole by the monitor, as it says, %d not whole in the trace, %d not in the program's log, %d where x/exp/trace moved events by more than that (%d of %d events moved), %d of goroutines that were not followed in an older generation; time of those that agree:",
		v.agreed, tolerance, v.unseen, v.outside, v.unknown, v.blurred, v.moved, v.events, v.mute)
	for _, o := range owners {
		fmt.Fprintf(&b, " %s %v", o, time.Duration(v.time[o]).Round(time.Microsecond))
	}
	return b.String()
}

// compare lays the two opinions of each window side by side.
func (r *run) compare(t *testing.T) verdict {
	line, err := read(r.trace)
	if err != nil {
		t.Fatal(err)
	}
	v := verdict{time: map[owner]int64{}, events: line.events, moved: line.moved}
	find := r.index()
	differ := 0
	for i := range r.windows {
		w, s := &r.windows[i].w, &r.windows[i].s
		if s.Fidelity != stall.Exact {
			v.unseen++
			continue
		}
		from := int64(w.Extent().Start)
		if from <= line.first || int64(w.End) >= line.last {
			v.outside++
			continue
		}
		n, ok := find(w)
		g := line.windows[n].g
		if !ok || g == 0 {
			v.unknown++
			continue
		}
		own := &window{int64(w.Start), int64(w.End), int64(w.Arrival), line.windows[n], r.procs == 1}
		mine := line.recompute(own)
		off := difference(mine.time, s)
		switch {
		case off <= tolerance:
			v.agreed++
			for o, d := range mine.time {
				v.time[o] += d
			}
		case off <= tolerance+time.Duration(mine.doubt):
			v.blurred++
		case off <= tolerance+time.Duration(mine.mute):
			v.mute++
		default:
			if differ++; differ <= 10 {
				t.Errorf("window %d of goroutine %d, %v long, differs by %v (events moved by up to %v):\n%s%s",
					n, g, s.Total, off, time.Duration(mine.doubt), sideBySide(mine.time, s), line.scene(own))
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d windows differ", differ)
	}
	// What cannot be compared must be the exception. Events are moved where threads
	// lose their CPU between a stamp and its number: on a busy machine more often.
	if (v.mute+v.outside+v.unknown)*20 > v.agreed || v.blurred*5 > v.agreed {
		t.Errorf("too few windows could be compared: %s", v.String())
	}
	return v
}

// index returns a function that finds the number of a window by when it began
// and ended.
func (r *run) index() func(*stall.Window) (int, bool) {
	order := make([]int, len(r.log))
	longest := stall.Instant(0) // between the instants about a begin
	for i := range order {
		order[i] = i
		longest = max(longest, r.log[i].begin[1]-r.log[i].begin[0])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(r.log[a].begin[0], r.log[b].begin[0]) })
	return func(w *stall.Window) (int, bool) {
		from, _ := slices.BinarySearchFunc(order, w.Start-longest, func(i int, t stall.Instant) int {
			return cmp.Compare(r.log[i].begin[0], t)
		})
		found, ok := 0, false
		for _, i := range order[from:] {
			l := &r.log[i]
			if l.begin[0] > w.Start {
				break
			}
			if w.Start <= l.begin[1] && l.end[0] <= w.End && w.End <= l.end[1] && l.arrival == w.Arrival {
				if ok {
					return 0, false // two may be meant
				}
				found, ok = i, true
			}
		}
		return found, ok
	}
}

// theirs returns what the monitor says of an owner.
func theirs(s *stall.Share, o owner) time.Duration {
	switch o {
	case uncertain:
		return s.Uncertain
	case app:
		return s.App
	case appOrHost:
		return s.AppOrHost
	case unseen:
		return s.Unseen
	case overlapped:
		return s.Overlapped[stall.GCPause] + s.Overlapped[stall.RuntimeSuspension]
	}
	c, err := stall.ParseCause(string(o))
	if err != nil {
		panic(err)
	}
	return s.Charged[c]
}

// difference returns how far the two are apart where they are farthest.
func difference(mine map[owner]int64, s *stall.Share) (most time.Duration) {
	for _, o := range owners {
		most = max(most, (theirs(s, o) - time.Duration(mine[o])).Abs())
	}
	return most
}

func sideBySide(mine map[owner]int64, s *stall.Share) string {
	var b strings.Builder
	for _, o := range owners {
		if a, z := time.Duration(mine[o]), theirs(s, o); a != 0 || z != 0 {
			fmt.Fprintf(&b, "%20s: oracle %12v, monitor %12v\n", o, a, z)
		}
	}
	return b.String()
}
