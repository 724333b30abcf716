package e2e

import (
	"fmt"
	"maps"
	"math"
	"strings"
)

// gained returns how a span may differ from what its process had laid on it: it has
// the machine's part where the process did not know it, out of app_or_host and
// unseen, and is in all else as it was, to the bit. It is checked by the gaps that
// were told, and by arithmetic that is not the join's: what the gaps have of the span
// is the most that it can be charged with, and what of that cannot have been in a stop
// or while the goroutine waited is the least.
func gained(known gaps) func(g, w said) error {
	return func(g, w said) error {
		took, rest := 0.0, maps.Clone(g.shares)
		for name, v := range g.shares {
			if strings.HasPrefix(name, host) {
				took += v - w.shares[name]
				delete(rest, name)
			}
		}
		for _, from := range []string{"otelgc.stall.app_or_host", "otelgc.stall.unseen"} {
			if rest[from] > w.shares[from] {
				return fmt.Errorf("%s grew", from)
			}
			delete(rest, from)
		}
		for name, v := range rest {
			if v != w.shares[name] {
				return fmt.Errorf("%s is not what it was", name)
			}
		}
		if math.Abs(g.sum()-w.sum()) > exactly {
			return fmt.Errorf("%v s are %v s", w.sum(), g.sum())
		}
		_, most := known.in(known.told, g)
		least := most
		for name, v := range w.shares {
			if name != coverage && name != "otelgc.stall.app_or_host" && (name != "otelgc.stall.unseen" || w.words["otelgc.fidelity"] == "exact") {
				least -= v
			}
		}
		if took > most+within || took < least-within {
			return fmt.Errorf("the machine has %v of it, want %v to %v", took, least, most)
		}
		return sameWords(g, w)
	}
}
