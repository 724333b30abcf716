package dotnetgc_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// feeder plays events that nobody has to write down.
type feeder struct {
	m    *dotnetgc.Model
	e    nettrace.Event
	take bool // after each event, as a live stream does
	out  dotnetgc.Output
	buf  [16]byte
}

func newFeeder() *feeder {
	h := nettrace.Header{Frequency: 1e9, PointerSize: 8}
	return &feeder{m: dotnetgc.NewModel(h, dotnetgc.Options{}), e: nettrace.Event{Provider: dotnetgc.Provider, Ticks: 1}, take: true}
}

func (f *feeder) event(thread uint64, id, version int, payload []byte) {
	f.e.Thread, f.e.ID, f.e.Version, f.e.Payload = thread, id, version, payload
	f.e.Ticks++
	f.m.Add(&f.e)
	if f.take {
		f.out = f.m.Take()
	}
}

func (f *feeder) suspend(thread uint64, reason dotnetgc.SuspendReason) {
	f.event(thread, 9, 0, binary.LittleEndian.AppendUint16(f.buf[:0], uint16(reason)))
}
func (f *feeder) suspended(thread uint64) { f.event(thread, 8, 1, nil) }
func (f *feeder) restart(thread uint64)   { f.event(thread, 7, 1, nil) }
func (f *feeder) restarted(thread uint64) { f.event(thread, 3, 1, nil) }

func (f *feeder) start(number uint32, typ dotnetgc.Type) {
	b := binary.LittleEndian.AppendUint32(f.buf[:0], number)
	b = binary.LittleEndian.AppendUint32(b, 2)
	b = binary.LittleEndian.AppendUint32(b, 0)
	f.event(1, 1, 2, binary.LittleEndian.AppendUint32(b, uint32(typ)))
}

// induced is a GCStart of eight bytes, of the oldest version.
func (f *feeder) induced(number uint32) {
	b := binary.LittleEndian.AppendUint32(f.buf[:0], number)
	f.event(1, 1, 0, binary.LittleEndian.AppendUint32(b, 1))
}

// endless are streams of what never ends. Each is played n rounds.
var endless = map[string]func(f *feeder, n int){
	"suspensions of a background collection": func(f *feeder, n int) {
		f.start(1, dotnetgc.BackgroundGC)
		for range n {
			f.suspend(7, dotnetgc.ForGCPrep)
			f.suspended(7)
			f.restart(7)
			f.restarted(7)
		}
	},
	"collections of a stop": func(f *feeder, n int) {
		f.suspend(7, dotnetgc.ForGC)
		f.suspended(7)
		for k := range n {
			f.induced(uint32(k + 1))
		}
	},
	// Each stop is of two background collections, and each of those has two
	// stops: the last one leads to the first.
	"a chain of stops and collections": func(f *feeder, n int) {
		f.start(1, dotnetgc.BackgroundGC)
		for k := range n {
			thread := uint64(7 + k%2)
			f.suspend(thread, dotnetgc.ForGCPrep)
			f.suspended(thread)
			f.start(uint32(k+2), dotnetgc.BackgroundGC)
			f.restart(thread)
			f.restarted(thread)
		}
	},
	"stops that are not taken": func(f *feeder, n int) {
		f.take = false
		for range n {
			f.suspend(7, dotnetgc.Other)
			f.suspended(7)
			f.restart(7)
			f.restarted(7)
		}
	},
	"holes that are not taken": func(f *feeder, n int) {
		f.take = false
		for k := range n {
			f.event(1, 2, 1, binary.LittleEndian.AppendUint64(f.buf[:0], uint64(k)))
		}
	},
	"collections that are not taken": func(f *feeder, n int) {
		f.take = false
		for k := range n {
			f.induced(uint32(k + 1))
		}
	},
	"threads that stop the world": func(f *feeder, n int) {
		for k := range n {
			f.suspend(uint64(k), dotnetgc.ForGC)
		}
	},
	"histories of heaps": func(f *feeder, n int) {
		for k := range n {
			f.start(uint32(k+1), dotnetgc.NonConcurrentGC)
			f.event(1, 2, 1, binary.LittleEndian.AppendUint64(f.buf[:0], uint64(k+1)))
		}
	},
}

// TestEndless: what never ends is given up. What the model holds is what it
// says that it holds, and that is bounded. A million events are as many as a
// stream has in a minute.
func TestEndless(t *testing.T) {
	for name, play := range endless {
		t.Run(name, func(t *testing.T) {
			const (
				ceiling = 40 << 20
				noise   = 256 << 10 // what the test and the runtime itself hold
			)
			before := liveHeap()
			f := newFeeder()
			play(f, 1_000_000)
			f.out = dotnetgc.Output{}
			got, held := liveHeap()-before, int64(f.m.Held())
			t.Logf("%d bytes, and says %d", got, held)
			if got > held+noise {
				t.Errorf("the model holds %d bytes, and says that it holds at most %d", got, held)
			}
			if held > ceiling {
				t.Errorf("the model holds %d bytes, want at most %d", held, ceiling)
			}
			runtime.KeepAlive(f)
		})
	}
}

// TestTooMany: what is over a limit is counted, its time is unseen, and what
// comes after it is seen again.
func TestTooMany(t *testing.T) {
	type result struct {
		Dropped uint64
		Holes   []string
	}
	for name, want := range map[string]result{
		"suspensions of a background collection": {1, []string{"the end of collection 1 was not seen"}},
		"collections of a stop":                  {1, []string{"a stop ForGC: too many collections began in it"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeeder()
			f.take = false
			endless[name](f, 17)
			out := f.m.Take()
			got := result{f.m.Stats().Dropped, nil}
			for _, h := range out.Incomplete {
				if h.Why == want.Holes[0] {
					got.Holes = append(got.Holes, h.Why)
				}
				if h.Start == 0 || h.End < h.Start {
					t.Errorf("hole %+v, want its time", h)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			f.suspend(9, dotnetgc.ForGC)
			f.suspended(9)
			f.start(1000, dotnetgc.NonConcurrentGC)
			f.event(1, 2, 1, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1000), 0))
			f.restart(9)
			f.restarted(9)
			f.m.Idle()
			out = f.m.Take()
			last := len(out.Collections) - 1
			if last < 0 || out.Collections[last].Index != 1000 || len(out.Collections[last].Pauses) != 1 {
				t.Errorf("got %+v, want collection 1000 with its pause", out)
			}
		})
	}
}

// TestLimitsOfCaptures: streams of real processes stay far below the limits: of
// none anything is dropped, and what the model holds of each is a few kilobytes.
func TestLimitsOfCaptures(t *testing.T) {
	for _, name := range captureNames(t) {
		h, events := eventsOf(t, readCapture(t, name))
		m := dotnetgc.NewModel(h, dotnetgc.Options{})
		most := 0
		for i := range events {
			m.Add(&events[i])
			most = max(most, m.Held())
			for _, c := range m.Take().Collections {
				if len(c.Stops) > 4 {
					t.Errorf("%s: a collection of %d stops", name, len(c.Stops))
				}
			}
		}
		if most > 64<<10 || m.Stats().Dropped != 0 {
			t.Errorf("%s: held %d bytes, stats %+v, want at most 64 KiB and nothing dropped", name, most, m.Stats())
		}
	}
}
