package gc_test

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// What a record does not say is not zero.
func ExampleCollection() {
	const at = stall.Instant(time.Hour)
	c := gc.Collection{
		Index: 7, Cycles: 1, Kind: gc.Background, HeapBefore: gc.Known(gc.Bytes(64 << 20)),
		Pauses: []gc.Pause{
			{Start: at, End: at.Add(40 * time.Microsecond), Phase: gc.SweepTermination},
			{Start: at.Add(5 * time.Millisecond), End: at.Add(5100 * time.Microsecond), Phase: gc.MarkTermination},
		},
	}
	fmt.Println(c.Kind, c.PauseTotal())
	before, known := c.HeapBefore.Get()
	fmt.Println(before>>20, known)
	_, known = c.Promoted.Get()
	fmt.Println("promoted is known:", known)
	// Output:
	// background 140µs
	// 64 true
	// promoted is known: false
}
