package pauses

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestRun: all loads have their lines, and collections were compared.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	if err := Experiment().Run(t.Context(), []string{"-cycles", "20", "-live", "2"}, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{`\| light: .* \| pauses \| \d+ \| \d+ \| [1-9]\d+ \|`, `\| full: .* \| stops \| \d+ \| \d+ \| [1-9]\d+ \|`, `\| full, on one P \| stops \| \d+ \| \d+ \| [1-9]\d+ \|`, `\| light: .* \| -?[\d.]+ \| -?[\d.]+ \| -?[\d.]+ \| [\d.]+ \|`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// collection returns one that ended in a stop from 900 to 1000 us, the first of
// its two stops being as long.
func collection(index uint64) *gc.Collection {
	us := func(n int) stall.Instant { return stall.Instant(time.Second) + stall.Instant(n*1000) }
	return &gc.Collection{
		Index: index, Cycles: 1, Trigger: gc.TriggerHeap,
		Pauses:     []gc.Pause{{Start: us(0), End: us(100), EndMax: us(100)}, {Start: us(900), End: us(990), EndMax: us(1000)}},
		HeapBefore: gc.Known(gc.Bytes(1000)), Goal: gc.Known(gc.Bytes(1100)),
	}
}

func TestCompareMatchesByEnd(t *testing.T) {
	end := stall.Instant(time.Second) + 990_000
	for _, test := range []struct {
		name                  string
		runtime               []runtimeCycle
		excess, window        []float64
		unmatched, renumbered int
	}{
		{"in the last stop", []runtimeCycle{{6, 1, end - 5e6}, {7, 190_000, end}, {8, 1, end + 5e6}}, []float64{0}, []float64{10}, 0, 0},
		{"another number", []runtimeCycle{{9, 190_000, end}}, []float64{0}, []float64{10}, 0, 1},
		{"in the first stop", []runtimeCycle{{7, 190_000, end - 900_000}}, nil, nil, 1, 0},
		{"long after", []runtimeCycle{{7, 190_000, end + 900_000}}, nil, nil, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &tally{runtime: test.runtime}
			c.compare(collection(7))
			if d := cmp.Diff(test.excess, c.excess); d != "" {
				t.Errorf("excess (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.window, c.window); d != "" {
				t.Errorf("window (-want +got):\n%s", d)
			}
			if c.unmatched != test.unmatched || c.renumbered != test.renumbered {
				t.Errorf("unmatched %d, renumbered %d, want %d, %d", c.unmatched, c.renumbered, test.unmatched, test.renumbered)
			}
		})
	}
}

func TestCompareHeap(t *testing.T) {
	c := &tally{}
	c.compareHeap(collection(1))
	forced := collection(2)
	forced.Trigger = gc.TriggerForced
	c.compareHeap(forced)
	estimated := collection(3)
	estimated.Estimated = gc.FieldHeapBefore
	c.compareHeap(estimated)
	if d := cmp.Diff([]float64{0.1}, c.heapError); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
}

// TestCompareSplits: what lies behind EvGCEnd is the end's, the rest the begins'.
func TestCompareSplits(t *testing.T) {
	end := stall.Instant(time.Second) + 990_000
	c := collection(7)
	c.End = gc.Known(end - 2_000)
	tally := &tally{runtime: []runtimeCycle{{7, 185_000, end}}}
	tally.compare(c)
	if d := cmp.Diff([][]float64{{15}, {12}, {3}}, [][]float64{tally.window, tally.atEnd, tally.atBegin}); d != "" {
		t.Errorf("window, at the end, at the begins (-want +got):\n%s", d)
	}
}
