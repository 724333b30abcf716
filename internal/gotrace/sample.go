package gotrace

import (
	"sort"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Sample is the value of a counter from At on.
type Sample struct {
	At    stall.Instant
	Value gc.Bytes
}

type tickSample struct {
	at    ticks
	value uint64
}

// series holds the samples of one counter in one generation.
type series struct {
	list  []tickSample
	order merger[tickSample]
	prior gc.Maybe[gc.Bytes] // the last value of the generation before
}

func (s *series) sort() {
	s.list = s.order.sort(s.list, func(a, b *tickSample) bool { return a.at < b.at })
}

// before returns the last value at or before t; the samples must be in order.
func (s *series) before(t ticks) gc.Maybe[gc.Bytes] {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].at > t })
	if i == 0 {
		return s.prior
	}
	return gc.Known(gc.Bytes(s.list[i-1].value))
}

// resolve appends the samples as instants.
func (s *series) resolve(out []Sample, c *clock) []Sample {
	for _, v := range s.list {
		out = append(out, Sample{c.instant(v.at), gc.Bytes(v.value)})
	}
	return out
}

// next empties s for the next generation.
func (s *series) next() {
	if n := len(s.list); n > 0 {
		s.prior = gc.Known(gc.Bytes(s.list[n-1].value))
	}
	s.list = s.list[:0]
}

// forget empties s after a hole in the stream.
func (s *series) forget() {
	s.list = s.list[:0]
	s.prior = gc.Maybe[gc.Bytes]{}
}

func (d *decoder) sample(s *series, at ticks, value uint64) {
	if len(s.list) < d.limits.Records {
		s.list = append(s.list, tickSample{at, value})
	} else {
		d.lost.Samples++
	}
}
