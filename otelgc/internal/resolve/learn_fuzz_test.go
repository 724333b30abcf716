package resolve

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// FuzzLearn goes from a trace of operations, see gotracetest.Compose, to the shares of
// windows that are open while it is decoded: some end in each generation, and some last.
// However little sense the trace makes, every window is told once, its share sums to its
// length.
func FuzzLearn(f *testing.F) {
	for _, ops := range [][]byte{
		{0, 3, 1, 0, 27, 4, 0, 5, 1, 5, 6, 1, 0, 3, 1, 0, 32, 0, 0, 4, 0, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 5, 1, 6, 0, 1, 0, 3, 2, 0, 27, 5, 0, 14, 0, 0, 15, 0, 0, 27, 6, 0, 32, 0, 0, 10, 0, 0, 33, 0, 1},
		{0, 3, 1, 0, 27, 4, 0, 12, 2, 0, 21, 0, 0, 22, 0, 0, 12, 1, 0, 32, 0, 0, 12, 2, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 192 + 4, 1, 255, 192 + 14, 1, 255, 192 + 15, 1, 255, 32, 0, 0, 128 + 32, 0, 20},
		{0, 3, 1, 0, 27, 4, 0, 3, 2, 0, 27, 7, 0, 192 + 36, 4, 255, 192 + 36, 5, 255, 32, 0, 0, 192 + 36, 6, 255},
	} {
		f.Add(ops, uint64(0b0101_0011))
	}
	f.Fuzz(func(t *testing.T, ops []byte, ends uint64) {
		r, err := gotrace.NewReader(bytes.NewReader(gotracetest.Compose(ops)), gotrace.Options{
			MarkPrefix: gotrace.WindowMarks, Limits: gotrace.Limits{Transitions: 1 << 15, Records: 1 << 10},
		})
		if err != nil {
			t.Fatal(err)
		}
		p := play(t)
		open := []window.Open{p.open(second), p.open(second)}
		want := make(map[stall.Instant]int) // windows by their ends
		end := func(at stall.Instant) {
			at = max(at, open[0].Start)
			p.end(open[0], at)
			want[at]++
			open = append(open[1:], p.open(at))
		}
		for n := 0; n < 64; n++ {
			g, err := r.Next()
			if err != nil {
				break // the trace is as hostile as can be
			}
			if ends>>(n%64)&1 == 1 {
				end(g.Start + (g.End-g.Start)/2)
			}
			p.trace(g)
		}
		last := p.now
		end(last)
		end(last)
		p.see(last + stall.Instant(4*timeline.Deadline))
		got := make(map[stall.Instant]int)
		for i := range p.got {
			w, s := &p.got[i].w, &p.got[i].s
			got[w.End]++
			sum := s.App + s.AppOrHost + s.Unseen + s.Uncertain
			for _, d := range s.Charged {
				sum += d
			}
			if sum != s.Total || s.Total != w.End.Sub(w.Start) {
				t.Errorf("a window of %v has a share of %v, which sums to %v: %+v", w.End.Sub(w.Start), s.Total, sum, s)
			}
		}
		for at, n := range want {
			if got[at] != n {
				t.Errorf("%d windows that ended at %d are told, want %d", got[at], at, n)
			}
		}
	})
}
