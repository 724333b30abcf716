package dotnetgc_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// The fuzzer's input is a list of events, each: id, version, thread, ticks
// since the last one in 16 bits, length of the payload in 16 bits, payload. Id
// 0 is a loss, 255 a silence.
const (
	fuzzLoss    = 0
	fuzzSilence = 255
)

// pack turns a capture into the fuzzer's form.
func pack(t testing.TB, stream []byte) []byte {
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	last := r.Header().SyncTicks
	for {
		e, err := r.Next()
		if err != nil || len(out) > 8000 {
			return out
		}
		out = append(out, byte(e.ID), byte(e.Version), byte(e.Thread))
		out = binary.LittleEndian.AppendUint16(out, uint16((e.Ticks-last)/1000))
		out = binary.LittleEndian.AppendUint16(out, uint16(len(e.Payload)))
		out = append(out, e.Payload...)
		last = e.Ticks
	}
}

func unpack(b []byte, each func(e *nettrace.Event)) {
	e := nettrace.Event{Provider: dotnetgc.Provider, Ticks: 1}
	for len(b) >= 7 {
		n := min(int(binary.LittleEndian.Uint16(b[5:])), len(b)-7)
		e.ID, e.Version, e.Thread, e.Payload = int(b[0]), int(b[1]), uint64(b[2]), b[7:7+n]
		e.Ticks += nettrace.Ticks(binary.LittleEndian.Uint16(b[3:]))
		e.Lost, e.LostSince = 0, 0
		if b[0] == fuzzLoss {
			e.Lost, e.LostSince = uint64(b[1])+1, e.Ticks-e.Ticks/4
		}
		b = b[7+n:]
		each(&e)
	}
}

// FuzzModel holds the model to its contract, whatever the runtime says: what it
// hands out is coherent in time, no stop is charged twice, and what is open is
// bounded.
func FuzzModel(f *testing.F) {
	for _, name := range captureNames(f) {
		f.Add(pack(f, readCapture(f, name)), false)
	}
	s := newScript(machines["windows, 32 bit"])
	s.collect(7, 1000, 1, 2, dotnetgc.BackgroundGC)
	f.Add(pack(f, s.stream()), true)
	f.Fuzz(func(t *testing.T, input []byte, narrow bool) {
		h := nettrace.Header{Frequency: 3124099, PointerSize: 8}
		if narrow {
			h.PointerSize = 4
		}
		m := dotnetgc.NewModel(h, dotnetgc.Options{})
		var out dotnetgc.Output
		events := 0
		keep := func(o dotnetgc.Output) {
			out.Collections = append(out.Collections, o.Collections...)
			out.Stops = append(out.Stops, o.Stops...)
			out.Incomplete = append(out.Incomplete, o.Incomplete...)
		}
		unpack(input, func(e *nettrace.Event) {
			events++
			if e.ID == fuzzSilence {
				m.Idle()
				keep(m.Take())
				return
			}
			m.Add(e)
		})
		m.Close()
		keep(m.Take())
		if at, pending := m.Pending(); pending {
			t.Fatalf("a stop at %d is pending after the end", at)
		}
		if n := len(out.Collections) + len(out.Stops) + len(out.Incomplete); n > 4*events {
			t.Fatalf("%d records of %d events", n, events)
		}
		checkOutput(t, out)
	})
}

func checkOutput(t *testing.T, out dotnetgc.Output) {
	t.Helper()
	var stopped, charged time.Duration
	for _, s := range out.Stops {
		if s.Begin > s.Start() || s.Start() > s.Suspended || s.Suspended > s.RestartBegin ||
			s.RestartEnd != 0 && s.RestartEnd < s.RestartBegin {
			t.Fatalf("stop %+v is not coherent", s)
		}
		if (s.RestartEnd == 0) != (s.Incomplete != "") {
			t.Fatalf("stop %+v does not say that it is incomplete", s)
		}
		stopped += s.Duration()
	}
	for i := range out.Collections {
		c := &out.Collections[i]
		checkCollection(t, c)
		charged += c.PauseTotal()
		c.TraceEventPause()
	}
	if charged > stopped {
		t.Fatalf("stopped for %v, of which %v are charged", stopped, charged)
	}
	for _, h := range out.Incomplete {
		if h.End < h.Start || h.Why == "" {
			t.Fatalf("hole %+v is not coherent", h)
		}
	}
}

func checkCollection(t *testing.T, c *dotnetgc.Collection) {
	t.Helper()
	start, known := c.Start.Get()
	end, ended := c.End.Get()
	if !known || ended && end < start || c.Origin != stall.Dotnet || c.Kind == gc.NoKind || c.Trigger == "" {
		t.Fatalf("collection %+v is not coherent", c)
	}
	if c.Incomplete == "" && (!ended || len(c.Stops) == 0 || c.HeapBefore.IsZero() || c.HeapAfter.IsZero()) {
		t.Fatalf("collection %+v does not say that it is incomplete", c)
	}
	for _, p := range c.Pauses {
		if p.End < p.Start || p.EndMax < p.End || p.Suspend.Or(0) < 0 {
			t.Fatalf("pause %+v is not coherent", p)
		}
	}
	if share := c.PauseUtilization.Or(0); share < 0 || share > 1 {
		t.Fatalf("share of time paused: %v", share)
	}
}
