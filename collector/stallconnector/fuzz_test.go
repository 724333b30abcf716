package stallconnector

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// FuzzConnector: whatever OTLP comes in, in two batches of each signal, every span
// comes out once, and what is kept of it is bounded.
func FuzzConnector(f *testing.F) {
	events, err := new(plog.ProtoMarshaler).MarshalLogs(watched())
	if err != nil {
		f.Fatal(err)
	}
	spans, err := new(ptrace.ProtoMarshaler).MarshalTraces(request())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(events, spans)
	f.Add(spans, events)
	f.Add(append(events, events...), append(spans, spans...))
	f.Fuzz(func(t *testing.T, events, spans []byte) {
		ld, err := new(plog.ProtoUnmarshaler).UnmarshalLogs(events)
		if err != nil {
			return
		}
		td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(spans)
		if err != nil {
			return
		}
		config := createDefaultConfig().(*Config)
		config.MaxBytes, config.SlowSpan, config.Wait = 1<<20, 1, time.Minute
		w, stop := newWhole(t, config)
		before := heap()
		for range 2 {
			if err := w.events.ConsumeLogs(context.Background(), ld); err != nil {
				t.Fatal(err)
			}
			w.spans(t, td)
		}
		// Handed over, a span is the sink's. What is kept is twice what may be counted
		// at most: the rest is what the sums and the events of slow spans are made of.
		a := w.events.(*instance).attributor
		_, held := a.Held()
		if counted := held + a.Known(); counted > config.MaxBytes {
			t.Errorf("%d bytes are counted, want at most %d", counted, config.MaxBytes)
		}
		if took := heap() - before; w.toTraces.SpanCount() == 0 && took > 2*config.MaxBytes {
			t.Errorf("%d bytes on the heap, want at most %d", took, 2*config.MaxBytes)
		}
		stop()
		if got, want := w.toTraces.SpanCount(), 2*td.SpanCount(); got != want {
			t.Errorf("%d spans came out, want %d", got, want)
		}
		runtime.KeepAlive(w)
	})
}

// heap returns the bytes that live on the heap.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
