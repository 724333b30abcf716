package e2e

import (
	"fmt"
	"maps"
	"math"
	"strings"
)

const (
	appOrHost = "otelgc.stall.app_or_host"
	unseen    = "otelgc.stall.unseen"
)

// gained returns how a span may differ from what its process had laid on it: it has
// the machine's part where the process did not know of the cause, out of app_or_host
// and unseen, and is in all else as it was, to the bit. It is checked by the gaps that
// were told, and by arithmetic that is not the join's. What the gaps of a cause have of
// the span, less what they may share with all other owners, is the least: by the process
// or, outside, by overlap, stops are owners too. The most is the same, but for stops and
// other gaps, which were told and so may be no part of what was joined.
func gained(known gaps) func(g, w said) error {
	return func(g, w said) error {
		told, _ := known.in(known.told, g)
		waited, stopped := owned(w)
		_, stops := known.in(known.stops, g)
		stopped = max(stopped, stops)
		for name := range union(union(g.shares, w.shares), told) {
			took := g.shares[name] - w.shares[name]
			switch {
			case name == appOrHost || name == unseen:
				if took > 0 {
					return fmt.Errorf("%s grew", name)
				}
			case strings.HasPrefix(name, host) && w.shares[name] == 0:
				most := max(0, told[name]-waited)
				least := min(told[name]-waited-stopped-others(told, name), w.shares[appOrHost]+w.shares[unseen])
				if took < least-within || took > most+within {
					return fmt.Errorf("%s has %v of it, want %v to %v", name, took, max(0, least), most)
				}
			case took != 0:
				return fmt.Errorf("%s is not what it was", name)
			}
		}
		if math.Abs(g.sum()-w.sum()) > exactly {
			return fmt.Errorf("%v s are %v s", w.sum(), g.sum())
		}
		return sameWords(g, w)
	}
}

// owned returns how much of a span its process gave to owners that keep it: to stops
// and the machine, which others may know of, and to all else, which nobody can. Per
// cycle what is uncertain is no owner: all is at most.
func owned(w said) (waited, stopped float64) {
	for name, v := range w.shares {
		switch {
		case name == coverage || name == appOrHost || name == unseen:
		case name == "otelgc.stall.uncertain" && w.words["otelgc.fidelity"] == "cycle":
		case strings.HasPrefix(name, host) || name == "otelgc.stall.gc.pause" || name == "otelgc.stall.runtime.suspension":
			stopped += v
		default:
			waited += v
		}
	}
	return waited, stopped
}

// others returns the sum of all but one.
func others(by map[string]float64, but string) (sum float64) {
	for v := range maps.Values(by) {
		sum += v
	}
	return sum - by[but]
}
