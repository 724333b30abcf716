package exact

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// FuzzStore goes from a trace of operations, see gotracetest.Compose, to the store.
// However little sense the trace makes, what is kept is within the limits.
func FuzzStore(f *testing.F) {
	for _, ops := range [][]byte{
		{0, 3, 1, 0, 27, 4, 0, 5, 1, 5, 6, 1, 0, 3, 1, 0, 32, 0, 0, 4, 0, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 12, 2, 0, 21, 0, 0, 22, 0, 0, 12, 1, 0, 32, 0, 0, 12, 2, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 192 + 4, 1, 255, 192 + 14, 1, 255, 192 + 15, 1, 255, 32, 0, 0, 128 + 32, 0, 20},
		{0, 3, 1, 0, 27, 4, 0, 3, 2, 0, 27, 7, 0, 192 + 36, 4, 255, 192 + 36, 5, 255, 32, 0, 0, 192 + 36, 6, 255},
	} {
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		r, err := gotrace.NewReader(bytes.NewReader(gotracetest.Compose(ops)), gotrace.Options{
			MarkPrefix: gotrace.WindowMarks, Limits: gotrace.Limits{Transitions: 1 << 15, Records: 1 << 10},
		})
		if err != nil {
			t.Fatal(err)
		}
		b := newStore(second)
		open := window.Open{Slot: b.slots.Take(), Held: second, Start: second}
		b.slots.Publish(open)
		for n := 0; n < 64; n++ {
			g, err := r.Next()
			if err != nil {
				return // the trace is as hostile as can be
			}
			b.Learn(g, nil)
			checkKept(t, b)
			var e stall.Evidence
			w := stall.Window{Start: second, End: g.End}
			b.Follow(&e, &w, open.Slot, stall.Span{Start: second, End: g.End}, new(Carrier))
		}
	})
}

// checkKept holds what the store keeps to its limits.
func checkKept(t *testing.T, b *Store) {
	t.Helper()
	if len(b.live) > KeptGenerations {
		t.Fatalf("%d generations are kept, the limit is %d", len(b.live), KeptGenerations)
	}
	if n := len(b.carrying) + len(b.holders); n > 2*(gotrace.WindowSlots+maxChildren*2) {
		t.Fatalf("%d goroutines and slots are carried", n)
	}
}
