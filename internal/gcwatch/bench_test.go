package gcwatch

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// BenchmarkNotice measures one notice of a poll and of a cycle (the cycle
// itself not included), beside two peers that tell less: runtime.ReadMemStats,
// which stops the world, and one metrics.Read of all that the runtime has, as
// an exporter of runtime metrics does. The ratios are peer to notice of a poll.
func BenchmarkNotice(b *testing.B) {
	settle(b)
	w := steady(b)
	for range 3 {
		runtime.GC()
		w.look()
	}
	var peer, cycle time.Duration
	const cycles = 100
	for range cycles {
		runtime.GC()
		start := time.Now()
		w.look()
		cycle += time.Since(start)
	}
	start := time.Now()
	var m runtime.MemStats
	for range 1000 {
		runtime.ReadMemStats(&m)
	}
	peer = time.Since(start) / 1000
	var all []metrics.Sample
	for _, d := range metrics.All() {
		all = append(all, metrics.Sample{Name: d.Name})
	}
	metrics.Read(all)
	start = time.Now()
	for range 1000 {
		metrics.Read(all)
	}
	every := time.Since(start) / 1000
	b.ReportAllocs()
	for b.Loop() {
		w.look()
	}
	b.ReportMetric(float64(cycle.Nanoseconds())/cycles, "ns/cycle-notice")
	own := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(float64(peer.Nanoseconds())/own, "ReadMemStats/notice")
	b.ReportMetric(float64(every.Nanoseconds())/own, "metrics.Read/notice")
}
