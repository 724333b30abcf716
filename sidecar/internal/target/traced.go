package target

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// heldFor is how long a slice may take until its requests are told. One that takes longer
// holds nothing back any more: its requests come too late for some of their spans.
const heldFor = 1500 * time.Millisecond

// slicing returns when the slice began whose requests spans have to wait for, 0 for none.
func (l *pull) slicing(now stall.Instant) stall.Instant {
	if begun := l.source.Slicing(); now.Sub(begun) <= heldFor {
		return begun
	}
	return 0
}

// sendTraced exports the requests of a slice that a span can be told to be of. What another
// goroutine ended is not sent: its stops are known without it. Neither is one of two that
// began and ended together under one name: if the limit of events left one of them out, its
// span would look like that of the other.
func (p *process) sendTraced(all []evidence.Request) {
	twin := twins(all)
	ambiguous := uint64(0)
	for i := range all {
		q := &all[i]
		switch {
		case twin[i]:
			ambiguous++
		case !q.Moved:
			p.output.telemetry.Traced(&semconv.Traced{Span: q.Span, Slack: p.Clock.Error(), Task: q.Name, Share: q.Share}, p.origin())
		}
	}
	p.output.dropped("request", "ambiguous", ambiguous)
}

// mostNear bounds how many requests one is compared with that began beside it. If there are
// more, it counts as a twin of one of them.
const mostNear = 256

// twins says which requests began within the lag of a task of another of the same name, and
// ended so.
func twins(all []evidence.Request) []bool {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(all[i].Start, all[j].Start) })
	twin := make([]bool, len(all))
	for n, i := range order {
		for m := n + 1; m < len(order); m++ {
			j := order[m]
			if all[j].Start.Sub(all[i].Start) > semconv.MaxTaskLag {
				break
			}
			if m-n > mostNear {
				twin[i], twin[j] = true, true
				break
			}
			if all[j].End.Sub(all[i].End).Abs() <= semconv.MaxTaskLag && all[i].Name == all[j].Name {
				twin[i], twin[j] = true, true
			}
		}
	}
	return twin
}
