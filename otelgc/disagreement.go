package otelgc

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// The two fidelities check each other: a difference of the pauses of a collection
// above both is counted.
const (
	disagreeShare = 0.2
	disagreeTime  = 50 * time.Microsecond
)

// disagreement counts the collections on whose pauses the two fidelities disagree,
// by who is wrong. The runtime stamps the begin of a pause after that of its stop
// in the trace, and the end before it (runtime/proc.go, stopTheWorldWithSema and
// startTheWorldWithSema), on the same thread and clock.
type disagreement struct {
	// missing: the runtime's own sum is longer than all stops of the trace, in
	// which it lies. A stop is missing, or is another collection's.
	missing uint64
	// delayed: the trace's pauses are longer, and it was not the restart of the
	// world that took the time. Between the two stamps, a few instructions apart,
	// the thread that stopped the world was held up.
	delayed uint64
}

// judge compares the exact pauses of c with the runtime's own sum. The runtime
// takes the end of the last one before it restarts the world: what that takes is
// in the trace alone, and no disagreement.
func (d *disagreement) judge(c *gc.Collection, runtime, restarting time.Duration) {
	most := time.Duration(0)
	for i := range c.Pauses {
		most += c.Pauses[i].EndMax.Sub(c.Pauses[i].Start)
	}
	switch {
	case apart(runtime-most, runtime):
		d.missing++
	case apart(c.PauseTotal()-restarting-runtime, runtime):
		d.delayed++
	}
}

func apart(d, runtime time.Duration) bool {
	return d > disagreeTime && float64(d) > disagreeShare*float64(runtime)
}

func (d disagreement) count() uint64 { return d.missing + d.delayed }

func (d *disagreement) add(other disagreement) {
	d.missing += other.missing
	d.delayed += other.delayed
}

// String says it in one sentence, empty if there is none.
func (d disagreement) String() string {
	var parts []string
	if d.missing > 0 {
		parts = append(parts, "of "+collections(d.missing)+" are longer by the runtime's own figures than in the execution trace: a stop is missing from it, or was taken for another collection's")
	}
	if d.delayed > 0 {
		parts = append(parts, "of "+collections(d.delayed)+" are longer in the execution trace than by the runtime's own figures: who stopped the world was held up between the stamp of the one and that of the other")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("the pauses %s (by more than %.0f %% and %v)", strings.Join(parts, "; "), 100*disagreeShare, disagreeTime)
}

func collections(n uint64) string {
	if n == 1 {
		return "1 collection"
	}
	return fmt.Sprintf("%d collections", n)
}
