// Package coverage keeps how much of a process was seen while it was watched.
package coverage

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Coverage is how much of a process was seen.
type Coverage struct {
	First  stall.Instant // when it was first watched
	Mark   stall.Instant // all before it was seen, or is named as unseen
	Unseen time.Duration // since First
}

// Fraction returns how much of the time since First was seen, 0 to 1.
func (c Coverage) Fraction() float64 {
	whole := c.Mark.Sub(c.First)
	if whole <= 0 {
		return 0
	}
	return max(0, 1-c.Unseen.Seconds()/whole.Seconds())
}

// Tracker keeps what was seen of a process and what was not. The zero Tracker is that
// of a process that was not watched so far.
type Tracker struct {
	Coverage
	watching bool
	next     []stall.Span // unseen, of the next batch
	counted  []stall.Span // the last spans that Unseen has: sorted and disjoint
}

// Attach begins to watch. Nothing before now was seen since the process was
// made, or since the last Detach.
func (t *Tracker) Attach(made, now stall.Instant) {
	if t.First == 0 {
		t.First = now
		t.add(stall.Span{Start: min(made, now), End: now})
	} else {
		t.Miss(stall.Span{Start: t.Mark, End: now})
	}
	t.Mark, t.watching = max(t.Mark, now), true
}

// Saw says that all before to was seen.
func (t *Tracker) Saw(to stall.Instant) {
	if t.watching {
		t.Mark = max(t.Mark, to)
	}
}

// Detach ends to watch: what follows the mark is unseen.
func (t *Tracker) Detach() { t.watching = false }

// Miss names a span that was not seen.
func (t *Tracker) Miss(s stall.Span) {
	s.Start = max(s.Start, t.First)
	if s.Empty() {
		return
	}
	t.count(s)
	t.add(s)
}

// count adds s to Unseen, but for what Unseen has already. It remembers the last maxUnseen
// spans: where s overlaps an older one, that time counts twice.
func (t *Tracker) count(s stall.Span) {
	before := length(t.counted)
	t.counted = stall.Union(append(t.counted, s))
	t.Unseen += length(t.counted) - before
	if n := len(t.counted); n > maxUnseen {
		t.counted = append(t.counted[:0], t.counted[n-maxUnseen:]...)
	}
}

// length returns the sum of disjoint spans.
func length(spans []stall.Span) (sum time.Duration) {
	for _, s := range spans {
		sum += s.Duration()
	}
	return sum
}

func (t *Tracker) add(s stall.Span) { t.next = Append(t.next, s) }

// Take returns the watermark at now, and the spans before it that were not
// seen and that no Take has returned so far.
func (t *Tracker) Take(now stall.Instant) (stall.Instant, []stall.Span) {
	if !t.watching && t.First != 0 {
		t.Miss(stall.Span{Start: t.Mark, End: now})
		t.Mark = max(t.Mark, now)
	}
	spans := t.next
	t.next = nil
	return t.Mark, spans
}

// maxUnseen bounds a list of unseen spans.
const maxUnseen = 64

// Append appends s to a list of unseen spans. Where there are too many, the last span
// reaches over all of them: more is unseen than was, never less.
func Append(list []stall.Span, s stall.Span) []stall.Span {
	n := len(list)
	switch {
	case s.Empty():
		return list
	case n < maxUnseen:
		return append(list, s)
	}
	last := &list[n-1]
	last.Start, last.End = min(last.Start, s.Start), max(last.End, s.End)
	return list
}
