package report

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Stop is one pause with the collection it belongs to.
type Stop struct {
	*gc.Collection
	gc.Pause
	Number int // of the collection in the file, from 1
}

// LongestPauses returns the n longest pauses, the longest first.
func (r *Report) LongestPauses(n int) []Stop {
	var list []Stop
	for i := range r.Collections {
		c := &r.Collections[i]
		for _, p := range c.Pauses {
			list = keepLongest(list, Stop{&c.Collection, p, i + 1}, n)
		}
	}
	return list
}

// keepLongest inserts s into a list of at most n, in order.
func keepLongest(list []Stop, s Stop, n int) []Stop {
	at := len(list)
	for at > 0 && list[at-1].Pause.Duration() < s.Pause.Duration() {
		at--
	}
	if at >= n {
		return list
	}
	if len(list) < n {
		list = append(list, Stop{})
	}
	copy(list[at+1:], list[at:])
	list[at] = s
	return list
}

// since returns the time from the beginning of the file.
func (r *Report) since(t stall.Instant) time.Duration { return t.Sub(r.Start) }
