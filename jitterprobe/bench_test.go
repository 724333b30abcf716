package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"
)

// BenchmarkLook compares one look of the spin loop with one of a loop that
// calls time.Now, which is what a probe without assembly would do.
func BenchmarkLook(b *testing.B) {
	if err := spin.Usable("/"); err != nil {
		b.Skip(err)
	}
	// The cheapest of many short turns: the one that nobody interrupted.
	const turn = 1000
	look, now := time.Hour, time.Hour
	for b.Loop() {
		t0 := time.Now()
		spin.Spin(spin.Now(), 1<<62, turn)
		t1 := time.Now()
		last := t1
		for range turn {
			t := time.Now()
			if t.Sub(last) >= time.Hour {
				b.Fatal("an hour in a loop")
			}
			last = t
		}
		look, now = min(look, t1.Sub(t0)), min(now, time.Since(t1))
	}
	b.ReportMetric(float64(look.Nanoseconds())/turn, "ns/look")
	b.ReportMetric(float64(now.Nanoseconds())/turn, "time.Now-ns/look")
	b.ReportMetric(float64(now)/float64(look), "ratio")
}
