package telemetry

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// blankReach is for how long statuses name again what one has named: one that
	// gets lost is made good by the next.
	blankReach = 3 * time.Second
	// maxBlanks bounds the stops that are kept of a source. If there are more, the
	// last one reaches to the end of all.
	maxBlanks = 4 * maxStatusSpans
)

// blanks are the stops of the world that did not become events, by source. The
// next statuses call that time unseen: who joins with the events would take the
// silence for a program that ran.
type blanks [stall.NumOrigins][]blank

// blank is one of them. It may be told long after it was, and is kept until it was
// named.
type blank struct {
	stall.Span
	until stall.Instant // it is named again, 0 if it was not yet
}

// add takes the stops of s. What either of Go's sources saw stopped the same
// process, of which the other must not say that it ran.
func (b *blanks) add(s stall.Origin, v stall.Span) {
	switch {
	case s == stall.GCWatch || s == stall.GoTrace:
		b.addTo(stall.GCWatch, v)
		b.addTo(stall.GoTrace, v)
	case s < stall.NumOrigins:
		b.addTo(s, v)
	}
}

func (b *blanks) addTo(s stall.Origin, v stall.Span) {
	if n := len(b[s]); n >= maxBlanks {
		last := &b[s][n-1]
		*last = blank{Span: stall.Span{Start: min(last.Start, v.Start), End: max(last.End, v.End)}}
		return
	}
	b[s] = append(b[s], blank{Span: v})
}

// before returns those of s that lie between since and watermark, and forgets
// those that were named often enough.
func (b *blanks) before(s stall.Origin, since, watermark stall.Instant) (named []stall.Span) {
	if s >= stall.NumOrigins {
		return nil
	}
	b[s] = slices.DeleteFunc(b[s], func(v blank) bool { return v.until != 0 && v.until < since })
	for i := range b[s] {
		v := &b[s][i]
		if v.Start >= watermark {
			continue
		}
		named = append(named, stall.Span{Start: v.Start, End: min(v.End, watermark)})
		if v.until == 0 && v.End <= watermark {
			v.until = since.Add(blankReach)
		}
	}
	return named
}

// unnamed says that the status of s since then, which named blanks, is lost. Those that
// it was the first to name are kept until another has.
func (b *blanks) unnamed(s stall.Origin, since stall.Instant) {
	if s >= stall.NumOrigins {
		return
	}
	for i := range b[s] {
		if v := &b[s][i]; v.until == since.Add(blankReach) {
			v.until = 0
		}
	}
}

// reachOf is where the pause may lie.
func reachOf(p *gc.Pause) stall.Span {
	return stall.Span{Start: p.Start.Add(-p.Slack), End: max(p.End, p.EndMax).Add(p.Slack)}
}

// reachOfStop is where v may lie.
func reachOfStop(v *stall.Interval) stall.Span {
	return stall.Span{Start: v.Start.Add(-v.Slack), End: v.End.Add(v.Slack)}
}

// blank marks a stop of s that nobody is told of.
func (r *ration) blank(s stall.Origin, stop stall.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blanks.add(s, stop)
}

// Untold says that there were stops of the process in v that the Telemetry is not
// told of: the next statuses of the source call that time unseen.
func (t *Telemetry) Untold(s stall.Origin, v stall.Span) { t.events.blank(s, v) }

// refuse takes back an event that went out and was not taken.
func (r *ration) refuse(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(h.source(), h.rank, nil)
	for _, stop := range h.stops {
		r.blanks.add(h.source(), stop)
	}
}

// unnamed takes back a status of s that went out and was not taken.
func (r *ration) unnamed(s stall.Origin, since stall.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blanks.unnamed(s, since)
}

// blanksOf returns what a status of s has to call unseen.
func (r *ration) blanksOf(s stall.Origin, since, watermark stall.Instant) []stall.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blanks.before(s, since, watermark)
}
