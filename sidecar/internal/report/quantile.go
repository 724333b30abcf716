package report

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// beyond is how many samples have to lie beyond a quantile for it to be told:
// p99.9 needs 10,000 of them, p99 1,000, p90 100, the median 20.
const beyond = 10

// Spread is a distribution of lengths.
type Spread struct {
	Count int                     `json:"count"`
	P50   gc.Maybe[time.Duration] `json:"p50,omitzero"`
	P90   gc.Maybe[time.Duration] `json:"p90,omitzero"`
	P99   gc.Maybe[time.Duration] `json:"p99,omitzero"`
	P999  gc.Maybe[time.Duration] `json:"p999,omitzero"`
	Max   time.Duration           `json:"max"`
	Total time.Duration           `json:"total"`
}

// quantiles are those of a Spread, in order.
var quantiles = [...]struct {
	name     string
	permille int
}{{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}}

// spreadOf returns the distribution of list, and leaves it sorted.
func spreadOf(list []time.Duration) Spread {
	s := Spread{Count: len(list)}
	if s.Count == 0 {
		return s
	}
	slices.Sort(list)
	s.Max = list[s.Count-1]
	for _, d := range list {
		s.Total += d
	}
	for i, to := range []*gc.Maybe[time.Duration]{&s.P50, &s.P90, &s.P99, &s.P999} {
		q := quantiles[i].permille
		if s.Count*(1000-q) < beyond*1000 {
			continue
		}
		rank := (s.Count*q + 999) / 1000 // the nearest rank
		*to = gc.Known(list[rank-1])
	}
	return s
}

// all returns the quantiles in the order of the list above.
func (s *Spread) all() [len(quantiles)]gc.Maybe[time.Duration] {
	return [...]gc.Maybe[time.Duration]{s.P50, s.P90, s.P99, s.P999}
}

// PausesOf returns the distribution of the pauses of the collections of a kind,
// one sample for each stop of the world.
func (r *Report) PausesOf(kind gc.Kind) Spread {
	var list []time.Duration
	for i := range r.Collections {
		if r.Collections[i].Kind != kind {
			continue
		}
		for _, p := range r.Collections[i].Pauses {
			list = append(list, p.Duration())
		}
	}
	return spreadOf(list)
}
