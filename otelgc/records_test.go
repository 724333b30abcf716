package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestSlowed: of a request that had a pause for certain which the machine made long, the
// sentence says so.
func TestSlowed(t *testing.T) {
	const ms = stall.Instant(1_000_000)
	var r records
	for i := range stall.Instant(21) {
		at := second + i*100*ms
		r.add(&gc.Collection{Index: uint64(i + 1), Cycles: 1, Pauses: []gc.Pause{{Start: at, End: at + ms, EndMax: at + ms}}})
	}
	at := second + 5000*ms
	long := gc.Collection{Index: 22, Cycles: 1, Pauses: []gc.Pause{{Start: at, End: at + 10*ms, EndMax: at + 10*ms}}}
	long.Pauses[0].HostDuring.CPUWait = gc.Known(8 * time.Millisecond)
	long.UsualPause, long.SlowedBy = gc.Known(time.Millisecond), gc.StolenCPU
	r.add(&long)
	const want = "; collection 22 was slowed by stolen CPU: paused 10.0 ms, 10 times the usual for its work, 8.00 ms of it without a CPU"
	if got := r.slowed(stall.Span{Start: at + 5*ms, End: at + 1000*ms}); got != want {
		t.Errorf("sentence of a request: got %q, want %q", got, want)
	}
	if got := r.slowed(stall.Span{Start: second, End: at - 1000*ms}); got != "" {
		t.Errorf("sentence of a request that it did not pause: got %q, want none", got)
	}
	// Where in 100 ms the pause lay is not known, so the second request may have had none of it.
	r.collections.at(21).Pauses[0].Slack = time.Duration(50 * ms)
	if got := r.slowed(stall.Span{Start: at - 100*ms, End: at + 1000*ms}); got != want {
		t.Errorf("sentence of a request that had it somewhere: got %q, want %q", got, want)
	}
	if got := r.slowed(stall.Span{Start: at + 5*ms, End: at + 1000*ms}); got != "" {
		t.Errorf("sentence of a request that may have had none of it: got %q, want none", got)
	}
}
