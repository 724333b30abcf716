package dotnetgc_test

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall/gc"
)

func ExampleModel() {
	stream, err := os.ReadFile("../nettrace/testdata/collect5.nettrace")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := dotnetgc.NewModel(r.Header(), dotnetgc.Options{})
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		m.Add(e)
	}
	m.Close()
	for _, c := range m.Take().Collections {
		theirs, _ := c.TraceEventPause()
		gen2 := c.Generations[gc.Gen2]
		fmt.Printf("GC %d, %v for %s: paused %v (PerfView: %v), heap %d to %d, gen2 %d to %d\n", c.Index, c.Kind, c.Trigger,
			c.PauseTotal(), theirs, c.HeapBefore.Or(0), c.HeapAfter.Or(0), gen2.SizeBefore.Or(0), gen2.SizeAfter.Or(0))
	}
	// Output:
	// GC 1, ephemeral for AllocSmall: paused 21.82568ms (PerfView: 21.856726ms), heap 18527904 to 9742240, gen2 0 to 0
	// GC 2, ephemeral for AllocSmall: paused 18.365166ms (PerfView: 18.369652ms), heap 24124584 to 10006584, gen2 0 to 5306304
	// GC 3, ephemeral for AllocSmall: paused 1.581162ms (PerfView: 1.603545ms), heap 24267624 to 10088104, gen2 5306304 to 5306304
	// GC 4, ephemeral for AllocSmall: paused 411.389µs (PerfView: 413.673µs), heap 24364696 to 10213664, gen2 5306304 to 5306304
	// GC 5, full_blocking for Induced: paused 4.809372ms (PerfView: 4.836503ms), heap 11232136 to 10013040, gen2 5306304 to 5509432
}
