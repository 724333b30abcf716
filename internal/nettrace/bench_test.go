package nettrace_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// large repeats what a capture's blocks hold until it is some megabytes: the
// types come once, and the time and the numbers of events stand still, which
// costs the decoder a loss per block and thread.
func large(b testing.TB, name string) []byte {
	stream := capture(b, name)
	list, r, _ := read(b, stream, nettrace.Options{})
	w := nettracetest.New(nettracetest.Options{PointerSize: 8, SyncTicks: int64(r.Header().SyncTicks)})
	span := uint64(list[len(list)-1].Ticks-list[0].Ticks) + 1
	for round := uint64(0); len(stream)*int(round) < 8<<20; round++ {
		// One block per thread, as the runtime writes a flush; the last event
		// of a round is sorted.
		var threads []uint64
		blocks := make(map[uint64][]nettracetest.Event)
		for i, e := range list {
			if blocks[e.Thread] == nil {
				threads = append(threads, e.Thread)
			}
			blocks[e.Thread] = append(blocks[e.Thread], nettracetest.Event{
				Provider: e.Provider, ID: e.ID, Version: e.Version, Name: e.Name,
				Ticks: uint64(e.Ticks) + round*span, Thread: e.Thread, Payload: []byte(e.Payload), Sorted: i == len(list)-1,
			})
		}
		for _, thread := range threads {
			w.Events(blocks[thread]...)
		}
	}
	w.End()
	return w.Bytes()
}

func benchmark(b *testing.B, name string, o nettrace.Options) {
	stream := large(b, name)
	events := uint64(0)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := nettrace.NewReader(bytes.NewReader(stream), o)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF || r.Stats().Lost != 0 || r.Stats().Late != 0 {
			b.Fatal(err, r.Stats())
		}
		events = r.Stats().Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events)/float64(b.N), "ns/event")
}

func BenchmarkReader(b *testing.B)      { benchmark(b, "gen0_256k", nettrace.Options{}) }
func BenchmarkAllocations(b *testing.B) { benchmark(b, "level5", nettrace.Options{}) }
func BenchmarkUnwanted(b *testing.B) {
	benchmark(b, "gen0_256k", nettrace.Options{Want: func(string, int, int) bool { return false }})
}

// TestSteadyState decodes without allocating, once the buffers have their size.
func TestSteadyState(t *testing.T) {
	stream := large(t, "gen0_256k")
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := func() {
		for range 100 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		next()
	}
	if got := testing.AllocsPerRun(500, next); got != 0 {
		t.Errorf("got %v allocations per 100 events, want none", got)
	}
}
