package jitterprobe

import (
	"context"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// BenchmarkDrain takes a gap out of the ring, on a clock of its own, and tells
// of it. Nobody has records of it.
func BenchmarkDrain(b *testing.B) {
	if err := spin.Usable("/"); err != nil {
		b.Skip(err)
	}
	clock, err := stall.NewClock()
	if err != nil {
		b.Fatal(err)
	}
	const perDrain = 100
	f := &loop{
		ring:     spin.NewRing(new(spin.Control), make([]spin.Record, 1024)),
		timeline: newTimeline(clock), clock: clock, origin: stall.ProbeSpin,
	}
	p := &Probe{loop: f, sum: Summary{Mode: Spin, Snapshot: newSnapshot()}, classifier: &classifier{view: &kernel.View{}}, queue: queue{news: make(chan struct{}, 1)}}
	told := 0
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		now := spin.Now()
		f.ring.Push(spin.Record{From: now, To: now + uint64(10*time.Microsecond)})
		f.ring.Last = now
		if n%perDrain == perDrain-1 {
			p.drain()
			if _, err := p.Next(context.Background()); err != nil {
				b.Fatal(err)
			}
			told += len(p.Gaps())
		}
	}
	if want := b.N / perDrain * perDrain; told != want {
		b.Errorf("%d gaps told, want %d", told, want)
	}
}
