package gotrace

import "slices"

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
