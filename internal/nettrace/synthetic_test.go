package nettrace_test

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// formats are all that a stream can be written in.
var formats = map[string]nettracetest.Options{
	"4 compressed": {Version: 4},
	"4 plain":      {Version: 4, Plain: true},
	"5 compressed": {Version: 5},
	"6 compressed": {Version: 6},
	"6 plain":      {Version: 6, Plain: true},
}

var syncTime = time.Date(2026, 11, 21, 4, 0, 12, 345e6, time.UTC)

// synthetic writes a stream of two threads, whose events overlap in time, with
// all that may be around them.
func synthetic(o nettracetest.Options) []byte {
	o.SyncTime, o.SyncTicks, o.PID, o.Processors = syncTime, 7, 4711, 12
	o.Frequency, o.PointerSize = 3124099, 4
	w := nettracetest.New(o)
	if o.Version == 6 {
		w.Threads(nettracetest.Thread{Index: 1, ID: 100, PID: 4712}, nettracetest.Thread{Index: 2, ID: 1 << 40, PID: 4712})
	}
	w.Block(5, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // stacks
	event := func(ticks, thread uint64, sorted bool, payload string) nettracetest.Event {
		return nettracetest.Event{
			Provider: "Prov\u00efder \U0001F600", ID: int(ticks % 3), Version: 2, Name: "Ev",
			Ticks: ticks, Thread: thread, Sorted: sorted, Payload: []byte(payload),
		}
	}
	w.Events(event(10, 1, false, "a"), event(15, 1, false, ""), event(20, 1, true, "ccc"))
	w.Events(event(12, 2, false, "longer than the others"), event(13, 2, false, "d"))
	w.Block(99, []byte("of the future"))
	w.Events(event(14, 2, false, "e"), event(21, 2, true, "f"), event(21, 1, false, "g"))
	w.SequencePoint(22, 0, nettracetest.Reached{Thread: 1, Seq: 4}, nettracetest.Reached{Thread: 2, Seq: 4})
	w.Events(event(30, 2, false, "h"))
	w.End()
	return w.Bytes()
}

func TestFormats(t *testing.T) {
	for name, o := range formats {
		t.Run(name, func(t *testing.T) {
			list, r, err := read(t, synthetic(o), nettrace.Options{})
			if err != io.EOF {
				t.Fatal(err)
			}
			wantHeader := nettrace.Header{
				Version: o.Version, PointerSize: 4, Frequency: 3124099, SyncTicks: 7, SyncTime: syncTime, PID: 4711, Processors: 12,
			}
			if diff := cmp.Diff(wantHeader, r.Header()); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			// The first sorted flag is a promise that the writer breaks, so that
			// the events of the second block come late.
			var want []seen
			for _, e := range []struct {
				ticks   nettrace.Ticks
				thread  uint64
				payload string
			}{
				{10, 1, "a"}, {15, 1, ""}, {20, 1, "ccc"},
				{12, 2, "longer than the others"}, {13, 2, "d"}, {14, 2, "e"}, {21, 2, "f"}, {21, 1, "g"}, {30, 2, "h"},
			} {
				v := seen{
					Provider: "Prov\u00efder \U0001F600", Name: "Ev", ID: int(e.ticks % 3), Version: 2,
					Ticks: e.ticks, Thread: e.thread, PID: 4711, Payload: e.payload,
				}
				if o.Version == 6 {
					v.Thread, v.PID = map[uint64]uint64{1: 100, 2: 1 << 40}[e.thread], 4712
				}
				want = append(want, v)
			}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got, want := r.Stats(), (nettrace.Stats{Events: 9, Late: 3}); got != want {
				t.Errorf("stats: got %+v, want %+v", got, want)
			}
		})
	}
}

// at makes an event of a thread.
func at(ticks, thread uint64, sorted bool) nettracetest.Event {
	return nettracetest.Event{Provider: "P", ID: 1, Ticks: ticks, Thread: thread, Sorted: sorted}
}

// times returns when events were, and the threads.
func times(list []seen) [][2]uint64 {
	var out [][2]uint64
	for _, e := range list {
		out = append(out, [2]uint64{uint64(e.Ticks), e.Thread})
	}
	return out
}

// TestOrder puts the runs of threads in order, as far as each flush allows.
func TestOrder(t *testing.T) {
	for name, o := range formats {
		t.Run(name, func(t *testing.T) {
			w := nettracetest.New(o)
			w.Events(at(10, 1, false), at(15, 1, false), at(20, 1, false), at(12, 2, false), at(14, 2, false), at(15, 2, false))
			w.Events(at(11, 3, true), at(13, 3, false), at(40, 3, false)) // nothing before 11 follows
			w.Events(at(16, 4, false), at(21, 4, true), at(22, 4, false))
			w.Events(at(30, 5, false), at(29, 6, false), at(28, 7, false), at(39, 7, true))
			w.Events(at(41, 8, false))
			w.End()
			list, r, err := read(t, w.Bytes(), nettrace.Options{})
			want := [][2]uint64{
				{10, 1}, {11, 3}, {12, 2}, {13, 3}, {14, 2}, {15, 1}, {15, 2}, {16, 4}, {20, 1}, {21, 4}, {22, 4},
				{28, 7}, {29, 6}, {30, 5}, {39, 7}, {40, 3}, {41, 8},
			}
			if diff := cmp.Diff(want, times(list)); diff != "" || err != io.EOF || r.Stats().Late != 0 {
				t.Errorf("%v, %+v (-want +got):\n%s", err, r.Stats(), diff)
			}
		})
	}
}

// TestOrderWithinMemory orders many runs, with what is held compacted again and
// again.
func TestOrderWithinMemory(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{})
	const flushes, threads = 200, 7
	for f := range uint64(flushes) {
		for thread := range uint64(threads) {
			var list []nettracetest.Event
			for k := range uint64(5) {
				e := at(1000*f+100*k+thread+1000, thread+1, false)
				e.Payload = []byte{byte(f), byte(thread), byte(k)}
				list = append(list, e)
			}
			if thread == threads-1 {
				list = append(list, at(1000*f+1600, 100, true))
			}
			w.Events(list...)
		}
	}
	w.End()
	list, r, err := read(t, w.Bytes(), nettrace.Options{})
	if err != io.EOF || len(list) != flushes*(threads*5+1) || r.Stats().Late != 0 || r.Stats().Lost != 0 {
		t.Fatalf("got %d events, %v, %+v", len(list), err, r.Stats())
	}
	for i, e := range list {
		if i > 0 && e.Ticks < list[i-1].Ticks {
			t.Fatalf("event %d at %d after %d", i, e.Ticks, list[i-1].Ticks)
		}
		f, rest := (uint64(e.Ticks)-1000)/1000, (uint64(e.Ticks)-1000)%1000
		if e.Thread != 100 && e.Payload != string([]byte{byte(f), byte(rest % 100), byte(rest / 100)}) {
			t.Fatalf("event at %d of thread %d has payload %q", e.Ticks, e.Thread, e.Payload)
		}
	}
}
