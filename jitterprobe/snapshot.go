package jitterprobe

import (
	"math/bits"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Buckets is the number of buckets of Histogram.
const Buckets = 48

// Histogram counts gaps by length in powers of two: bucket i holds those of at
// least 2^i ns and less than 2^(i+1) ns. The last one holds all longer ones
// too (from 39 hours).
type Histogram [Buckets]uint64

// Add counts a gap.
func (h *Histogram) Add(d time.Duration) {
	h[min(bits.Len64(uint64(max(d, 1)))-1, Buckets-1)]++
}

// Tally is how many gaps there were, and their sum.
type Tally struct {
	N    uint64
	Time time.Duration
}

// Count is the number of gaps at least as long as a bound.
type Count struct {
	AtLeast time.Duration
	N       uint64
}

// Counts counts gaps that are at least 2 us, 10 us, 50 us, 100 us and 1 ms long.
type Counts [5]Count

// NewCounts returns Counts of no gaps.
func NewCounts() Counts {
	return Counts{
		{AtLeast: 2 * time.Microsecond},
		{AtLeast: 10 * time.Microsecond},
		{AtLeast: 50 * time.Microsecond},
		{AtLeast: 100 * time.Microsecond},
		{AtLeast: time.Millisecond},
	}
}

// Add counts a gap.
func (c *Counts) Add(d time.Duration) {
	for i := range c {
		if d >= c[i].AtLeast {
			c[i].N++
		}
	}
}

// Snapshot is what a probe has seen since its start.
type Snapshot struct {
	// Start is the first look, Watermark the last one: the probe has seen
	// every gap that ended before it. During a gap it stands still.
	Start, Watermark stall.Instant
	// Gaps is the number of gaps recorded, GapTime their sum, Longest the
	// longest one. They do not contain the dropped ones.
	Gaps    uint64
	GapTime time.Duration
	Longest Gap
	// In Counts and in Histogram, with Periodic, a gap longer than the period
	// counts once for each wake-up that it swallowed, with the lateness that each
	// would have had.
	Counts    Counts
	Histogram Histogram
	// Causes holds the gaps recorded by their cause, which is the index.
	Causes [stall.NumCauses]Tally
	// Dropped gaps found the ring full.
	Dropped     uint64
	DroppedTime time.Duration
	DroppedMax  time.Duration
	// Backward counts gaps that were not kept because the counter ran backward
	// in them, which it does where a virtual machine is moved.
	Backward uint64
	// Unread counts the gaps that were not fetched in time, see [Probe.Next].
	Unread uint64
	// Loop is the cost of one look of a spinning mode, in nanoseconds: the mean
	// over all blocks of looks without a gap. Zero with Periodic, and until a
	// block has gone by without a gap.
	Loop float64
	// Balance is (looks x Loop + gaps) / time, dropped gaps included. Near 1,
	// or the arithmetic of the probe cannot be believed. Zero if Loop is.
	Balance float64

	merged time.Duration // observed by all, after a Merge
}

// Observed returns the time from the first look to the last; after a Merge the
// sum of what all of them observed.
func (s *Snapshot) Observed() time.Duration {
	if s.merged > 0 {
		return s.merged
	}
	return max(0, s.Watermark.Sub(s.Start))
}

// Merge adds what another probe has seen. Start becomes the earliest, Watermark the one
// that both have reached; Loop and Balance, which are of one probe, become zero. Into a
// zero Snapshot it copies o.
func (s *Snapshot) Merge(o *Snapshot) {
	if s.Start == 0 && s.Watermark == 0 && s.Gaps == 0 {
		*s = *o
		return
	}
	s.merged = s.Observed() + o.Observed()
	s.Loop, s.Balance = 0, 0
	s.Start, s.Watermark = min(s.Start, o.Start), min(s.Watermark, o.Watermark)
	s.Gaps += o.Gaps
	s.GapTime += o.GapTime
	if o.Longest.Duration() > s.Longest.Duration() {
		s.Longest = o.Longest
	}
	for i := range s.Counts {
		s.Counts[i].N += o.Counts[i].N
	}
	for i, n := range o.Histogram {
		s.Histogram[i] += n
	}
	for i, t := range o.Causes {
		s.Causes[i].N += t.N
		s.Causes[i].Time += t.Time
	}
	s.Dropped += o.Dropped
	s.DroppedTime += o.DroppedTime
	s.DroppedMax = max(s.DroppedMax, o.DroppedMax)
	s.Backward += o.Backward
	s.Unread += o.Unread
}

// Covered returns the fraction of the observed time of which the probe can say
// what happened, 0 to 1: all but the dropped gaps. With Periodic it speaks of
// gaps longer than the period; of shorter ones it sees a sample.
func (s *Snapshot) Covered() float64 {
	observed := s.Observed()
	if observed <= 0 {
		return 0
	}
	return max(0, 1-float64(s.DroppedTime)/float64(observed))
}

// Summary is what a probe has seen, and how.
type Summary struct {
	Snapshot
	Mode Mode   // never Auto
	CPU  int    // -1 if the probe is not pinned
	Note string // why it does not run as it was asked to

	obstacle error // to spinning
}

func newSnapshot() Snapshot { return Snapshot{Counts: NewCounts()} }

// keep adds g. If timed, it fills in the wake-ups that g swallowed, as a timer that is
// late for all of them would have recorded.
func (s *Snapshot) keep(g Gap, timed bool) {
	d := g.Duration()
	s.Gaps++
	s.GapTime += d
	c := &s.Causes[min(g.Cause, stall.NumCauses-1)]
	c.N++
	c.Time += d
	if d > s.Longest.Duration() {
		s.Longest = g
	}
	s.count(d)
	for late := d - period; timed && late > 0; late -= period {
		s.count(late)
	}
}

func (s *Snapshot) count(d time.Duration) {
	s.Histogram.Add(d)
	s.Counts.Add(d)
}
