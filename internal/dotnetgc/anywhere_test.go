package dotnetgc_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// eventsOf returns the events of a stream, with memory of their own.
func eventsOf(t testing.TB, stream []byte) (nettrace.Header, []nettrace.Event) {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		t.Fatal(err)
	}
	var list []nettrace.Event
	for {
		e, err := r.Next()
		if err != nil {
			return r.Header(), list
		}
		v := *e
		v.Payload = bytes.Clone(e.Payload)
		list = append(list, v)
	}
}

// played runs events through a model.
func played(h nettrace.Header, list []nettrace.Event) (dotnetgc.Output, dotnetgc.Stats) {
	m := dotnetgc.NewModel(h, dotnetgc.Options{})
	for i := range list {
		m.Add(&list[i])
	}
	m.Close()
	return m.Take(), m.Stats()
}

// plain is a collection without what depends on those before it.
func plain(c dotnetgc.Collection) dotnetgc.Collection {
	c.PauseUtilization, c.UtilizationSince, c.Allocated = gc.Maybe[float64]{}, gc.Maybe[stall.Instant]{}, gc.Maybe[gc.Bytes]{}
	return c
}

// truthOf is what the whole of a stream says.
type truthOf struct {
	collections map[uint64]dotnetgc.Collection
	stops       map[stall.Instant]dotnetgc.Stop // by Begin
}

func newTruthOf(out dotnetgc.Output) truthOf {
	v := truthOf{make(map[uint64]dotnetgc.Collection), make(map[stall.Instant]dotnetgc.Stop)}
	for _, c := range out.Collections {
		v.collections[c.Index] = plain(c)
	}
	for _, s := range out.Stops {
		v.stops[s.Begin] = s
	}
	return v
}

// holds checks what became of a part of the stream: a record that says that it
// is whole is that of the whole stream, and so is every stop. It returns how
// many are.
func (v *truthOf) holds(t *testing.T, out dotnetgc.Output) int {
	t.Helper()
	checkOutput(t, out)
	whole := 0
	for _, c := range out.Collections {
		if c.Incomplete != "" {
			continue
		}
		whole++
		if want, got := v.collections[c.Index], plain(c); !reflect.DeepEqual(want, got) {
			diff := cmp.Diff(want, got, compareMaybe, comparePauseMode)
			t.Fatalf("collection %d says that it is whole (-want +got):\n%s", c.Index, diff)
		}
	}
	for _, s := range out.Stops {
		want, known := v.stops[s.Begin]
		if !known {
			t.Fatalf("stop %+v is none", s)
		}
		if s.Incomplete == "" && (s.RestartBegin != want.RestartBegin || s.Suspended != want.Suspended || s.Reason != want.Reason) {
			t.Fatalf("stop %+v, want %+v", s, want)
		}
	}
	return whole
}

var comparePauseMode = cmp.AllowUnexported(gc.Maybe[dotnetgc.PauseMode]{})

// places returns where in a list of events to begin a trial: everywhere in a
// short one, at some fifty places in a long one.
func places(events []nettrace.Event) []int {
	var list []int
	for i := 0; i < len(events); i += 1 + len(events)/50 {
		list = append(list, i)
	}
	return list
}

// TestAttachAnywhere begins at the events of every capture.
func TestAttachAnywhere(t *testing.T) {
	for _, name := range captureNames(t) {
		h, events := eventsOf(t, readCapture(t, name))
		all, _ := played(h, events)
		want := newTruthOf(all)
		for _, i := range places(events) {
			out, _ := played(h, events[i:])
			n := want.holds(t, out)
			// No more is lost than what began before, and what was under way: a
			// background collection, one in it, and one that waits for its
			// histories.
			began := 0
			for _, e := range events[:i] {
				if e.ID == 1 {
					began++
				}
			}
			if all := len(all.Collections); n > all || n < all-began-3 {
				t.Fatalf("%s from event %d on: %d of %d collections are whole, %d began before", name, i, n, all, began)
			}
		}
	}
}

// TestCutAnywhere ends at many bytes of every capture.
func TestCutAnywhere(t *testing.T) {
	for _, name := range captureNames(t) {
		stream := readCapture(t, name)
		all, _ := replay(t, stream)
		want := newTruthOf(all)
		for n := 200; n < len(stream); n += 1 + len(stream)/100 {
			r, err := nettrace.NewReader(bytes.NewReader(stream[:n]), nettrace.Options{Want: dotnetgc.Want})
			if err != nil {
				t.Fatal(err)
			}
			m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
			for {
				e, err := r.Next()
				if err == nil {
					m.Add(e)
					continue
				}
				if err == io.EOF || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%s cut at %d: got %v", name, n, err)
				}
				break
			}
			m.Close()
			want.holds(t, m.Take())
			// What a thread said after the cut may be of before it, but nothing
			// is lost.
			if stats := m.Stats(); stats.Lost+stats.Malformed+stats.Dropped != 0 {
				t.Fatalf("%s cut at %d: %+v", name, n, stats)
			}
		}
	}
}

// TestLoseAnywhere loses an event of every capture, alone: what was touched
// by it says so, or is not there and named.
func TestLoseAnywhere(t *testing.T) {
	for _, name := range captureNames(t) {
		h, events := eventsOf(t, readCapture(t, name))
		all, _ := played(h, events)
		want := newTruthOf(all)
		for _, i := range places(events) {
			if events[i].ID == idAllocationTick {
				continue
			}
			out, stats := played(h, without(events, i, 1))
			n := want.holds(t, out)
			if next(events, i) < 0 {
				continue // the last of its thread: nobody can know
			}
			if stats.Lost != 1 || len(out.Incomplete) == 0 {
				t.Fatalf("%s without event %d: %+v, holes %+v", name, i, stats, out.Incomplete)
			}
			if n < len(all.Collections)-4 {
				t.Fatalf("%s without event %d: %d of %d collections are whole", name, i, n, len(all.Collections))
			}
		}
	}
}

// TestLoseMany loses runs of a thread's events, as a full buffer does.
func TestLoseMany(t *testing.T) {
	for _, name := range captureNames(t) {
		h, events := eventsOf(t, readCapture(t, name))
		all, _ := played(h, events)
		want := newTruthOf(all)
		for _, i := range places(events) {
			for _, n := range []int{2, 4, 9, 30} {
				out, _ := played(h, without(events, i, n))
				want.holds(t, out)
			}
		}
	}
}

// next returns the place of the next event of the thread of i, -1 for none.
func next(events []nettrace.Event, i int) int {
	for k := i + 1; k < len(events); k++ {
		if events[k].Thread == events[i].Thread {
			return k
		}
	}
	return -1
}

// without returns the events without the n of one thread from i on, and with a
// loss in front of its next one.
func without(events []nettrace.Event, i, n int) []nettrace.Event {
	thread, list := events[i].Thread, make([]nettrace.Event, 0, len(events)+1)
	since, lost := nettrace.Ticks(0), uint64(0)
	for k := range events {
		e := events[k]
		if e.Thread != thread {
			list = append(list, e)
			continue
		}
		if k >= i && n > 0 {
			n--
			lost++
			continue
		}
		if lost > 0 {
			list = append(list, nettrace.Event{Thread: thread, Ticks: e.Ticks, Lost: lost, LostSince: since})
			lost = 0
		}
		since = e.Ticks
		list = append(list, e)
	}
	return list
}
