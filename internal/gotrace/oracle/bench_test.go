package oracle

import (
	"bytes"
	"io"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// BenchmarkDecode decodes one trace and lets the oracle read it, in turns, and
// reports how many times faster gotrace was (ratio). "service" is a net/http
// service, "stress" a program that does little else than collect. "follow" also
// builds the states of every goroutine that was ever marked and unfollows none:
// in "service" half of all events are theirs. "first" starts without memory, as
// the oracle always does; the others have it from the stream before, as they
// would from the generation before.
func BenchmarkDecode(b *testing.B) {
	service := gotracetest.RecordService(b, time.Second)
	stress := gotracetest.Record(b, time.Second)
	b.Run("service", func(b *testing.B) { benchmark(b, service, again(b, service, "")) })
	b.Run("service-follow", func(b *testing.B) { benchmark(b, service, again(b, service, gotracetest.MarkPrefix)) })
	b.Run("service-first", func(b *testing.B) {
		benchmark(b, service, func(data []byte) *gotrace.Reader { return open(b, data, "") })
	})
	b.Run("stress", func(b *testing.B) { benchmark(b, stress, again(b, stress, "")) })
	b.Run("stress-follow", func(b *testing.B) { benchmark(b, stress, again(b, stress, gotracetest.MarkPrefix)) })
}

func open(b *testing.B, data []byte, prefix string) *gotrace.Reader {
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{MarkPrefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// again returns a function that opens a stream with the memory of the last.
func again(b *testing.B, data []byte, prefix string) func([]byte) *gotrace.Reader {
	r := open(b, data, prefix)
	decodeAll(b, r)
	return func(data []byte) *gotrace.Reader {
		if err := r.Reset(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
		return r
	}
}

func benchmark(b *testing.B, data []byte, open func([]byte) *gotrace.Reader) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var own, peer time.Duration
	var events int64
	for b.Loop() {
		start := time.Now()
		events = decodeAll(b, open(data))
		own += time.Since(start)
		b.StopTimer()
		start = time.Now()
		peerAll(b, data)
		peer += time.Since(start)
		b.StartTimer()
	}
	n := float64(b.N) * float64(events)
	b.ReportMetric(float64(own.Nanoseconds())/n, "ns/event")
	b.ReportMetric(float64(peer.Nanoseconds())/n, "peer-ns/event")
	b.ReportMetric(float64(peer)/float64(own), "ratio")
	b.ReportMetric(float64(events), "events")
}

func decodeAll(b *testing.B, r *gotrace.Reader) (events int64) {
	for {
		g, err := r.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			b.Fatal(err)
		}
		events += g.Events
	}
}

func peerAll(b *testing.B, data []byte) {
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	for {
		if _, err := r.ReadEvent(); err == io.EOF {
			return
		} else if err != nil {
			b.Fatal(err)
		}
	}
}
