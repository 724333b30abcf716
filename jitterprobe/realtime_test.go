package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func TestRealtimeLimitNeedsItsPattern(t *testing.T) {
	const ms = time.Millisecond
	gap := func(start, length time.Duration) Gap {
		g := unknown(length)
		g.Start = stall.Instant(time.Hour + start)
		g.End = g.Start.Add(length)
		return g
	}
	gaps := []Gap{gap(0, 51*ms), gap(300*ms, 20*ms), gap(1004*ms, 54*ms), gap(1500*ms, 50*ms), gap(3000*ms, 50*ms), gap(4008*ms, 59*ms), gap(5008*ms, 61*ms), gap(6008*ms, 44*ms)}
	r := realtime{tid: 1, shares: []share{{period: time.Second, rest: 50 * ms}}, fixed: func(int) bool { return true }}
	r.settle(gaps)
	for i, want := range []stall.Cause{stall.HostUnknown, stall.HostUnknown, stall.HostThrottled, stall.HostUnknown, stall.HostUnknown, stall.HostThrottled, stall.HostUnknown, stall.HostUnknown} {
		if gaps[i].Cause != want {
			t.Errorf("gap %d: got %v, want %v", i, gaps[i].Cause, want)
		}
	}
	r.fixed = func(int) bool { return false }
	again := []Gap{gap(5008*ms, 50*ms)}
	if r.settle(again); again[0].Cause != stall.HostUnknown {
		t.Errorf("without real-time priority: got %v", again[0].Cause)
	}
}
