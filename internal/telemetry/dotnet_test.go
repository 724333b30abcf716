package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// dotnetCollection has every field that a record of .NET can have.
func dotnetCollection() gc.Collection {
	size := func(n int) gc.Maybe[gc.Bytes] { return gc.Known(gc.Bytes(n)) }
	return gc.Collection{
		Index: 12, Cycles: 1, Kind: gc.Ephemeral, Generation: gc.Known(1), Trigger: "AllocSmall",
		Start: gc.Known(stall.Instant(5_000_000)), End: gc.Known(stall.Instant(7_000_000)),
		Pauses: []gc.Pause{{
			Start: 4_900_000, End: 7_100_000, EndMax: 7_300_000, Suspend: gc.Known(40 * time.Microsecond),
		}},
		Promoted: size(900), HeapBefore: size(5000), HeapAfter: size(2000),
		FragmentationBefore: size(10), FragmentationAfter: size(20),
		Compacting: gc.Known(true), Concurrent: gc.Known(false), Pinned: gc.Known(uint64(3)), Finalizable: gc.Known(uint64(0)),
		MemoryLoad: gc.Known(0.42), Allocated: size(4000), Incomplete: "not seen: GCPerHeapHistory",
		PauseUtilization: gc.Known(0.01),
		Generations: []gc.Generation{
			{
				ID: gc.Gen0, SizeBefore: size(4000), SizeAfter: size(0), FragmentationBefore: size(10), FragmentationAfter: size(0),
				Promoted: size(800), Survived: size(700), Budget: size(6000),
			},
			{ID: gc.LOH, SizeAfter: size(2000), FragmentationAfter: size(20)},
		},
		Origin: stall.Dotnet, Fidelity: stall.Exact,
	}
}

// playDotnet records one collection of each kind and returns the rig.
func playDotnet(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Options{BootID: bootID, PID: 7, DotnetMetrics: true})
	first, background := dotnetCollection(), dotnetCollection()
	background.Index, background.Kind, background.Generation = 13, gc.Background, gc.Known(2)
	background.Start, background.End = gc.Known(stall.Instant(8_000_000)), gc.Known(stall.Instant(20_000_000))
	background.Pauses = []gc.Pause{{Start: 8_000_000, End: 8_100_000}, {Start: 15_000_000, End: 15_200_000}}
	unseen := gc.Collection{
		Pauses: []gc.Pause{{Start: 30_000_000, End: 30_400_000}}, Incomplete: "it began before the session",
		Origin: stall.Dotnet, Fidelity: stall.Exact,
	}
	for _, c := range []*gc.Collection{&first, &background, &unseen} {
		r.Collection(c)
	}
	return r
}

func TestDotnet(t *testing.T) {
	r := playDotnet(t)
	events := renderEvents(r.nextSecond())
	golden(t, "dotnet.txt", events+renderMetrics(collect(t, r.reader)))
}

// TestDotnetOnly: each runtime has its own name for the time paused.
func TestDotnetOnly(t *testing.T) {
	for _, m := range collect(t, playDotnet(t).reader) {
		if m.Name == semconv.MetricPauseTime {
			t.Errorf("%s was recorded beside %s", m.Name, semconv.MetricDotnetPauseTime)
		}
	}
	for _, m := range collect(t, play(t).reader) {
		if strings.HasPrefix(m.Name, "dotnet.") {
			t.Errorf("%s was recorded without DotnetMetrics", m.Name)
		}
	}
}
