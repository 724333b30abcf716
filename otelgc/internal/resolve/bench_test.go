package resolve

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// BenchmarkResolve measures how long it takes to give a window its share: between slices
// of exact tracing, as nearly all are, and in the midst of a stop for each tenth.
func BenchmarkResolve(b *testing.B) {
	const rate = 4000
	for name, stops := range map[string]int{"no stop": 0, "a stop for each tenth": rate / 10} {
		b.Run(name, func(b *testing.B) {
			p := play(b)
			p.o.WantsPieces = func(time.Duration, stall.Instant) bool { return false }
			told := 0
			p.o.Conclude = func(*window.Ended, *stall.Window, *stall.Share, *Pieces) { told++ }
			b.ReportAllocs()
			b.ResetTimer()
			asked := 0
			for ; asked < b.N; asked += rate {
				b.StopTimer()
				begin := p.now
				for i := range stall.Instant(rate) {
					at := begin + i*second/rate
					p.Windows.Requests.Push(window.Ended{Start: at, End: at + 100_000, Held: at, Slot: window.NoSlot})
				}
				for i := range stall.Instant(stops) {
					at := begin + i*second/stall.Instant(stops)
					p.Timeline.Cycle.Add(stall.Interval{Start: at, End: at + 50_000, Cause: stall.GCPause, Ref: uint64(i + 1)})
				}
				p.Tracer.Store.LearnUnseen(begin + 2*second)
				b.StartTimer()
				p.see(begin + 2*second)
			}
			if told != asked {
				b.Errorf("%d windows are told, want %d", told, asked)
			}
		})
	}
}
