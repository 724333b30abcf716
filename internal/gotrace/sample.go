package gotrace

import (
	"slices"
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

// merger sorts lists that consist of a few ascending runs, one per batch or so,
// by merging them pairwise: stable, and linear but for the logarithm of the
// number of runs.
type merger[T any] struct {
	scratch []T
	runs    []int // where each ascending run begins
}

// sort returns list in order. It may be in the memory of the last scratch, and
// the memory of list becomes the next one: use the result in place of list.
func (m *merger[T]) sort(list []T, before func(a, b *T) bool) []T {
	m.findRuns(list, before)
	if len(m.runs) <= 1 {
		return list
	}
	m.scratch = slices.Grow(m.scratch[:0], len(list))[:len(list)]
	from, to := list, m.scratch
	for len(m.runs) > 1 {
		n := 0
		for r := 0; r < len(m.runs); r += 2 {
			lo, mid, hi := m.runs[r], m.end(r, len(from)), m.end(r+1, len(from))
			merge(to[lo:hi], from[lo:mid], from[mid:hi], before)
			m.runs[n] = lo
			n++
		}
		m.runs = m.runs[:n]
		from, to = to, from
	}
	m.scratch = to
	return from
}

func (m *merger[T]) findRuns(list []T, before func(a, b *T) bool) {
	m.runs = m.runs[:0]
	for i := range list {
		if i == 0 || before(&list[i], &list[i-1]) {
			m.runs = append(m.runs, i)
		}
	}
}

func (m *merger[T]) end(r, n int) int {
	if r+1 < len(m.runs) {
		return m.runs[r+1]
	}
	return n
}

func merge[T any](dst, a, b []T, before func(a, b *T) bool) {
	i, j, k := 0, 0, 0
	for i < len(a) && j < len(b) {
		if before(&b[j], &a[i]) {
			dst[k] = b[j]
			j++
		} else {
			dst[k] = a[i]
			i++
		}
		k++
	}
	k += copy(dst[k:], a[i:])
	copy(dst[k:], b[j:])
}
