package otelenv

import "testing"

// TestTally: nothing that may still arrive is lost, and what is lost stays so.
func TestTally(t *testing.T) {
	c := tally{room: 10}
	for _, step := range []struct {
		in, out, want uint64
		over          bool
	}{
		{in: 10, want: 0},
		{in: 5, want: 5},
		{out: 10, want: 5},
		{in: 20, want: 15},
		{out: 9, want: 15},
		{over: true, want: 16},
	} {
		c.in.Add(step.in)
		c.out.Add(step.out)
		c.over.Store(step.over)
		if got := c.lost(); got != step.want {
			t.Errorf("after %+v: got %d lost, want %d", step, got, step.want)
		}
	}
}
