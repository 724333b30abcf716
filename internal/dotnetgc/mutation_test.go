package dotnetgc_test

import (
	"math/rand/v2"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// TestMutations drops, repeats, moves and reassigns events of captures: what
// comes out is coherent all the same. A fuzzer that changes bytes seldom gets
// that far.
func TestMutations(t *testing.T) {
	for _, name := range captureNames(t) {
		var events []nettrace.Event
		unpack(pack(t, readCapture(t, name)), func(e *nettrace.Event) { events = append(events, *e) })
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, 1))
			m := dotnetgc.NewModel(nettrace.Header{Frequency: 1e9, PointerSize: 8}, dotnetgc.Options{})
			at := events[0].Ticks
			var held []nettrace.Event
			play := func(e nettrace.Event) {
				if e.Ticks = max(e.Ticks, at); random.IntN(50) == 0 {
					e.Thread = events[random.IntN(len(events))].Thread
				}
				at = e.Ticks
				m.Add(&e)
			}
			for _, e := range events {
				switch random.IntN(40) {
				case 0: // dropped
				case 1:
					play(e)
					play(e)
				case 2:
					held = append(held, e)
				case 3:
					play(e)
					m.Idle()
				case 4:
					play(nettrace.Event{Thread: e.Thread, Ticks: e.Ticks, Lost: 1, LostSince: e.Ticks - e.Ticks/8})
				default:
					play(e)
					if random.IntN(5) == 0 {
						for _, h := range held {
							play(h)
						}
						held = held[:0]
					}
				}
			}
			m.Close()
			out := m.Take()
			checkOutput(t, out)
			if t.Failed() {
				t.Fatalf("%s, seed %d", name, seed)
			}
		}
	}
}
