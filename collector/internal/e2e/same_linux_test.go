package e2e

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
)

const (
	// within is how far two figures of one span may be apart, in seconds: an
	// offset of the wall clock that was measured at another moment.
	within = 20e-6
	// exactly is that of two sums of whole nanoseconds.
	exactly = 1e-8

	coverage = "otelgc.stall.coverage"
	host     = "otelgc.stall.host."
)

// sameJoin returns how what a join from outside says of a span may differ from what
// the one inside said, per cycle. Both know the same: when the world was stopped, and
// what the machine did.
//
//   - Whoever has a part of it has the same part, within what the wall clock may be
//     off at its edges.
//   - Of the machine's part it may lack what was not told outside, and have more where
//     the process was told too late: it waits for a second, and looks for a board each
//     fifth. It never has more than was told. What is left over differs by as much, and
//     so may the part of another cause that the machine had at the same time.
//   - It is as long, and all of it has an owner.
//   - None of it is app or app_or_host: nobody knows what the goroutine did.
//   - As many collections delayed it, and the fidelity is the same.
//   - Coverage is not the same by what it means: inside it is the part that was
//     watched exactly, which is nothing; outside, where none is watched exactly, the
//     part in which somebody watched the runtime, which is all.
func sameJoin(known gaps) func(g, w said) error {
	return func(g, w said) error {
		lacks, allLacks := known.in(known.untold, g)
		told, allTold := known.in(known.told, g)
		more, hosts := 0.0, 0.0
		for name, d := range told {
			more += max(0, d-w.shares[name])
		}
		for name := range union(g.shares, w.shares) {
			off := g.shares[name] - w.shares[name]
			least, most := 0.0, 0.0
			switch {
			case name == coverage:
				continue
			case strings.HasPrefix(name, host):
				hosts += off
				most = max(0, told[name]-w.shares[name])
				least = -lacks[name] - (more - most)
			case name == "otelgc.stall.unseen" || name == "otelgc.stall.uncertain":
				least, most = -more, allLacks
			}
			if off < least-within || off > most+within {
				return fmt.Errorf("%s is %v and was %v, want %v to %v more", name, g.shares[name], w.shares[name], least, most)
			}
		}
		if most := max(0, allTold-w.hosts()); hosts < -allLacks-within || hosts > most+within {
			return fmt.Errorf("the machine has %v more of it, want %v to %v", hosts, -allLacks, most)
		}
		return sameRest(g, w)
	}
}

func union(a, b map[string]float64) map[string]float64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func sameRest(g, w said) error {
	for _, s := range []said{g, w} {
		if s.shares["otelgc.stall.app"]+s.shares["otelgc.stall.app_or_host"] > 0 {
			return fmt.Errorf("somebody knows what the goroutine did")
		}
	}
	if g.shares[coverage] != 1 || w.shares[coverage] != 0 {
		return fmt.Errorf("coverage is %v and was %v, want 1 and 0", g.shares[coverage], w.shares[coverage])
	}
	if length := float64(g.end-g.start) / 1e9; math.Abs(g.sum()-length) > exactly || math.Abs(w.sum()-length) > 1e-6 {
		return fmt.Errorf("%v s are %v and were %v", length, g.sum(), w.sum())
	}
	return sameWords(g, w)
}

// sameWords compares what is no number.
func sameWords(g, w said) error {
	for _, name := range []string{"otelgc.gc.overlap", "otelgc.fidelity", "otelgc.boot.id"} {
		// A span whose resource has the boot id does not repeat it.
		if got, want := g.words[name], w.words[name]; got != want && (got != "" || name != "otelgc.boot.id") {
			return fmt.Errorf("%s is %q and was %q", name, got, want)
		}
	}
	return nil
}

// compare wants 99 % of the spans to be the same, of those, too, that had a part of
// what is named; and some to have had one.
func compare(t *testing.T, got, want map[string]said, same func(g, w said) error, parts ...string) {
	t.Helper()
	equal, differ, had, kept := 0, 0, map[string]int{}, map[string]int{}
	for id, w := range want {
		g, came := got[id]
		if !came {
			t.Errorf("span %s did not come", id)
			continue
		}
		err := same(g, w)
		for _, part := range parts {
			if g.shares["otelgc.stall."+part] > 0 {
				had[part]++
				if err == nil {
					kept[part]++
				}
			}
		}
		if err != nil {
			if differ++; differ <= 5 {
				t.Logf("span %s: %v: the Collector says %v %v, the process %v %v", id, err, g.shares, g.words, w.shares, w.words)
			}
			continue
		}
		equal++
	}
	t.Logf("%d of %d spans are the same; of those that had a part %v of %v", equal, len(want), kept, had)
	if len(want) == 0 || equal*100 < len(want)*99 {
		t.Errorf("%d of %d spans are the same, want 99 %%", equal, len(want))
	}
	for _, part := range parts {
		if had[part] == 0 {
			t.Errorf("no span had a part of %s: nothing was compared", part)
		}
		if kept[part]*100 < had[part]*99 {
			t.Errorf("%d of %d spans with a part of %s are the same, want 99 %%", kept[part], had[part], part)
		}
	}
}
