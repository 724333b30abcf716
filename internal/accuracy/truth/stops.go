package main

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// stops counts, by the runtime's own account, the collector's stops of the world
// by how long it took to stop it.
type stops struct {
	counts []uint64
	bounds []float64 // of the buckets, in seconds
}

func readStops() stops {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	return stops{slices.Clone(h.Counts), h.Buckets}
}

// longestSince returns how long the longest since before took at most; zero if
// there was none.
func (s stops) longestSince(before stops) time.Duration {
	for i := len(s.counts) - 1; i >= 0; i-- {
		if s.counts[i] == before.counts[i] {
			continue
		}
		if most := s.bounds[i+1]; most < math.MaxInt64/float64(time.Second) {
			return time.Duration(most * float64(time.Second))
		}
		return math.MaxInt64
	}
	return 0
}
