package gotrace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPairsInTurns: pairs that take turns, ever so often, leave room for others.
func TestPairsInTurns(t *testing.T) {
	d := decoder{tracking: true, limits: Limits{}.withDefaults()}
	change := func(p pair) {
		d.switches = d.switches%maxDetail + 1
		d.change(p.from, 0, 0, switchedAway, d.switches)
		d.change(p.to, 0, 0, switchedTo, d.switches)
	}
	one, other, last := pair{1, 2}, pair{1, 2 + 1<<8}, pair{3, 4}
	for range maxPairs {
		change(one)
		change(other)
	}
	change(last)
	d.findPairs()
	if diff := cmp.Diff([]pair{one, other, last}, d.pairs, cmp.AllowUnexported(pair{})); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// TestManyPairs: those that there is no room for are counted.
func TestManyPairs(t *testing.T) {
	const over = 10
	d := decoder{tracking: true, limits: Limits{}.withDefaults()}
	for i := range uint64(maxPairs + over) {
		d.switches = d.switches%maxDetail + 1
		d.change(1, 0, 0, switchedAway, d.switches)
		d.change(i+2, 0, 0, switchedTo, d.switches)
	}
	d.findPairs()
	if len(d.pairs) != maxPairs || d.lost.Followed != over {
		t.Errorf("got %d pairs and %d lost, want %d and %d", len(d.pairs), d.lost.Followed, maxPairs, over)
	}
}

// TestKnownPairsAreNotLost: nothing is counted as lost of pairs that take turns, and
// of which there is room for all.
func TestKnownPairsAreNotLost(t *testing.T) {
	for _, n := range []uint64{maxPairs/2 + 10, maxPairs - 10} {
		d := decoder{tracking: true, limits: Limits{}.withDefaults()}
		for range 3 {
			for i := range n {
				d.switches = d.switches%maxDetail + 1
				d.change(1, 0, 0, switchedAway, d.switches)
				d.change(i+2, 0, 0, switchedTo, d.switches)
			}
		}
		d.findPairs()
		if uint64(len(d.pairs)) != n || d.lost.Followed != 0 {
			t.Errorf("got %d pairs and %d lost, want %d and none", len(d.pairs), d.lost.Followed, n)
		}
	}
}
