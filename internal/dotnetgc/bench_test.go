package dotnetgc_test

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// BenchmarkModel is what the model adds to the decoder: a record of a
// collection has memory of its own, an event has none.
func BenchmarkModel(b *testing.B) {
	stream := readCapture(b, "gen0_256k")
	h, events := eventsOf(b, stream)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		m := dotnetgc.NewModel(h, dotnetgc.Options{})
		for i := range events {
			m.Add(&events[i])
		}
		m.Close()
		if out := m.Take(); len(out.Collections) == 0 {
			b.Fatal("no collection")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(len(events))/float64(b.N), "ns/event")
}

// modelOf returns a model of all events of a stream.
func modelOf(t testing.TB, stream []byte) *dotnetgc.Model {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		m.Add(e)
	}
	return m
}

// BenchmarkStream is all of it, from the bytes to the records.
func BenchmarkStream(b *testing.B) {
	stream := readCapture(b, "gen0_256k")
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		m := modelOf(b, stream)
		m.Close()
		if out := m.Take(); len(out.Collections) == 0 {
			b.Fatal("no collection")
		}
	}
}
