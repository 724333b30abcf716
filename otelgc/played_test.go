package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/race"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// played is a monitor whose sources and clock are the test's.
type played struct {
	*Monitor
	t   testing.TB
	now stall.Instant // everything up to now has been seen
	got []resolved
}

func play(t testing.TB) *played {
	t.Helper()
	clock := testClock(t)
	tel, err := telemetry.New(telemetry.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, now: second}
	p.Monitor = newMonitor(config{onWindow: func(w *stall.Window, s *stall.Share) {
		p.got = append(p.got, resolved{*w, *s})
	}}, clock, tel, new(panics))
	p.store = newTraceStore(p.now, clock, p.windows.slots)
	p.timeline = p.store.timeline
	p.resolver.longs.cut = p.now
	p.resolver.pace.Sleep = func(time.Duration) {}
	return p
}

// open opens a window at t.
func (p *played) open(start stall.Instant) window.Open {
	p.t.Helper()
	w := window.Open{Slot: p.windows.slots.Take(), Held: start, Start: start}
	if w.Slot == window.NoSlot {
		p.t.Fatal("no slot is left")
	}
	p.windows.slots.Publish(w)
	return w
}

// end ends it and leaves it to be resolved.
func (p *played) end(w window.Open, end stall.Instant) {
	p.windows.slots.Claim(w.Slot, w.Held)
	p.windows.slots.Give(w.Slot, end)
	p.windows.pending.Push(window.Ended{Start: w.Start, End: end, Held: w.Held, Slot: w.Slot})
}

// trace has a generation seen, a little after its end.
func (p *played) trace(g *gotrace.Generation) {
	p.learnGeneration(g, nil)
	p.see(g.End)
}

// see has everything up to t seen.
func (p *played) see(t stall.Instant) {
	p.timeline.Cycle.Advance(t)
	p.now = max(p.now, t)
	p.resolver.resolve(p.now + 20e6)
}

func key(slot int16, m gotrace.WindowMark) string { return m.Key(slot) }

// anHour returns how many seconds the long tests play: some minutes for the race
// detector, which has nothing to find in what one goroutine plays.
func anHour() stall.Instant {
	if race.Enabled {
		return 600
	}
	return 3600
}
