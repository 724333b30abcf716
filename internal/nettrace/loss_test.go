package nettrace_test

import (
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

type loss struct {
	Thread, N, Since, Ticks uint64
}

func losses(list []seen) []loss {
	var out []loss
	for _, e := range list {
		if e.Lost > 0 {
			out = append(out, loss{e.Thread, e.Lost, uint64(e.Since), uint64(e.Ticks)})
		}
	}
	return out
}

// TestLoss finds what is missing, with its thread and its place.
func TestLoss(t *testing.T) {
	for name, o := range formats {
		for _, c := range []struct {
			name   string
			write  func(w *nettracetest.Writer)
			want   []loss
			first  []loss // more, in formats that count from 1
			events uint64
		}{
			{"none", func(w *nettracetest.Writer) { w.Events(at(1, 1, false), at(2, 2, false), at(3, 1, true)) }, nil, nil, 3},
			{"gap", func(w *nettracetest.Writer) {
				w.Events(at(1, 1, false), at(2, 2, false))
				w.Lose(1, 5)
				w.Events(at(3, 1, false), at(4, 2, false), at(5, 1, true))
			}, []loss{{1, 5, 1, 3}}, nil, 5},
			{"before the first", func(w *nettracetest.Writer) {
				w.Lose(1, 5)
				w.Events(at(3, 1, false))
			}, nil, []loss{{1, 5, 0, 3}}, 1},
			{"number wraps", func(w *nettracetest.Writer) {
				w.Events(at(1, 1, false))
				w.Number(1, math.MaxUint32/2)
				w.Events(at(2, 1, false))
				w.Number(1, math.MaxUint32-2)
				w.Events(at(3, 1, false), at(4, 1, false), at(5, 1, false), at(6, 1, false))
			}, []loss{{1, math.MaxUint32/2 - 1, 1, 2}, {1, math.MaxUint32/2 - 2, 2, 3}}, nil, 6},
			{"thread id is used again", func(w *nettracetest.Writer) {
				w.Events(at(1, 1, false), at(2, 1, false), at(3, 1, false))
				w.Number(1, 0)
				w.Events(at(4, 1, false))
				w.Number(1, 0)
				w.SequencePoint(5, 0, nettracetest.Reached{Thread: 1, Seq: 1})
				w.Events(at(6, 1, false))
			}, nil, nil, 5},
			{"at a sequence point", func(w *nettracetest.Writer) {
				w.Events(at(1, 1, false), at(2, 2, false))
				w.SequencePoint(5, 0, nettracetest.Reached{Thread: 1, Seq: 4}, nettracetest.Reached{Thread: 2, Seq: 0})
				w.Lose(1, 3)
				w.Events(at(6, 1, false), at(7, 2, false))
			}, []loss{{1, 3, 1, 5}}, nil, 4},
			{"thread that got nothing in", func(w *nettracetest.Writer) {
				w.Events(at(1, 1, false))
				w.SequencePoint(5, 0, nettracetest.Reached{Thread: 9, Seq: 4})
			}, nil, []loss{{9, 4, 0, 5}}, 1},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				w := nettracetest.New(o)
				c.write(w)
				w.End()
				list, r, err := read(t, w.Bytes(), nettrace.Options{})
				want := c.want
				if o.Version < 6 {
					want = append(want, c.first...)
				}
				if diff := cmp.Diff(want, losses(list)); diff != "" || err != io.EOF {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				sum := uint64(0)
				for _, l := range want {
					sum += l.N
				}
				if got := r.Stats(); got.Lost != sum || got.Events != c.events || got.Late != 0 {
					t.Errorf("stats: got %+v, want %d lost of %d", got, sum, c.events)
				}
			})
		}
	}
}

// TestRemovedThreads follows threads of format 6 that end, and whose indexes
// are used again.
func TestRemovedThreads(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{Version: 6})
	w.Threads(nettracetest.Thread{Index: 1, ID: 50, PID: 8})
	w.Events(at(1, 1, false), at(2, 1, false))
	w.RemoveThreads(nettracetest.Reached{Thread: 1, Seq: 6})
	w.Threads(nettracetest.Thread{Index: 1, ID: 60, PID: 9})
	w.Events(at(3, 1, false))
	w.SequencePoint(4, 3) // forget threads and metadata
	w.Events()
	w.End()
	list, _, err := read(t, w.Bytes(), nettrace.Options{})
	want := []seen{
		{Provider: "P", ID: 1, Ticks: 1, Thread: 50, PID: 8},
		{Provider: "P", ID: 1, Ticks: 2, Thread: 50, PID: 8},
		{Ticks: 2, Thread: 50, PID: 8, Lost: 4, Since: 2},
		{Provider: "P", ID: 1, Ticks: 3, Thread: 60, PID: 9},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != io.EOF {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestUntyped counts events whose type the stream took back.
func TestUntyped(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{Version: 6})
	w.Events(at(1, 1, false))
	w.SequencePoint(4, 2)
	w.Events(at(5, 1, false)) // the writer thinks that its type is known
	w.End()
	list, r, err := read(t, w.Bytes(), nettrace.Options{})
	if diff := cmp.Diff([]loss{{1, 1, 5, 5}}, losses(list)); diff != "" || err != io.EOF {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, want := r.Stats(), (nettrace.Stats{Events: 1, Untyped: 1}); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}

// TestWant leaves out what is not wanted, and still sees its gaps.
func TestWant(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{})
	other := at(2, 1, false)
	other.Provider = "Q"
	w.Events(at(1, 1, false), other)
	w.Lose(1, 2)
	other.Ticks, other.Sorted = 3, true
	w.Events(other, at(4, 1, false))
	w.End()
	asked := 0
	list, r, err := read(t, w.Bytes(), nettrace.Options{Want: func(provider string, id, version int) bool {
		asked++
		return provider == "P" && id == 1 && version == 0
	}})
	if diff := cmp.Diff([][2]uint64{{1, 1}, {3, 1}, {4, 1}}, times(list)); diff != "" || err != io.EOF || asked != 2 {
		t.Errorf("%v, asked %d times (-want +got):\n%s", err, asked, diff)
	}
	if got, want := r.Stats(), (nettrace.Stats{Events: 4, Lost: 2}); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}
