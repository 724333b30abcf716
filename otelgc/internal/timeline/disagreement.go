package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// The two sources check each other: a difference of the pauses of a collection above
// both is a disagreement.
const (
	disagreeShare = 0.2
	disagreeTime  = 50 * time.Microsecond
)

// Disagreement counts the collections on whose pauses the two sources disagree. The
// runtime stamps the begin of a pause after that of its stop in the trace, and the end
// before it (runtime/proc.go, stopTheWorldWithSema and startTheWorldWithSema), on the
// same thread and clock.
type Disagreement struct {
	// Missing: the runtime's own sum is longer than all stops of the trace, in
	// which it lies. A stop is missing, or is another collection's.
	Missing uint64
	// Delayed: the trace's pauses are longer, and it was not the restart of the
	// world that took the time. Between the two stamps, a few instructions apart,
	// the thread that stopped the world was held up.
	Delayed uint64
}

// compare compares the exact pauses of c with the runtime's own sum. The runtime takes
// the end of the last one before it restarts the world: what that takes is in the trace
// alone, and no disagreement.
func (d *Disagreement) compare(c *gc.Collection, runtime time.Duration) {
	most := time.Duration(0)
	for _, p := range c.Pauses {
		most += p.EndMax.Sub(p.Start)
	}
	restarting := time.Duration(0)
	if last := &c.Pauses[len(c.Pauses)-1]; c.End.Or(0) >= last.Start {
		restarting = max(0, last.End.Sub(c.End.Or(0)))
	}
	switch {
	case apart(runtime-most, runtime):
		d.Missing++
	case apart(c.PauseTotal()-restarting-runtime, runtime):
		d.Delayed++
	}
}

func apart(d, runtime time.Duration) bool {
	return d > disagreeTime && float64(d) > disagreeShare*float64(runtime)
}

// Count returns how many collections they are.
func (d Disagreement) Count() uint64 { return d.Missing + d.Delayed }

// Add adds the collections of other.
func (d *Disagreement) Add(other Disagreement) {
	d.Missing += other.Missing
	d.Delayed += other.Delayed
}

// String returns one sentence, empty if there is no disagreement.
func (d Disagreement) String() string {
	var parts []string
	if d.Missing > 0 {
		parts = append(parts, "of "+collections(d.Missing)+" are longer by the runtime's own figures than in the execution trace: a stop is missing from it, or was taken for another collection's")
	}
	if d.Delayed > 0 {
		parts = append(parts, "of "+collections(d.Delayed)+" are longer in the execution trace than by the runtime's own figures: the goroutine that stopped the world was held up between the stamp of the one and that of the other")
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
