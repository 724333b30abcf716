package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/race"
	"github.com/otelgc/otelgc/internal/telemetry"
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
func (p *played) open(start stall.Instant) openWindow {
	p.t.Helper()
	w := openWindow{slot: p.windows.slots.take(), held: start, start: start}
	if w.slot == noSlot {
		p.t.Fatal("no slot is left")
	}
	p.windows.slots.publish(w)
	return w
}

// end ends it and leaves it to be resolved.
func (p *played) end(w openWindow, end stall.Instant) {
	p.windows.slots.claim(w.slot, w.held)
	p.windows.slots.give(w.slot, end)
	p.windows.pending.push(ended{start: w.start, end: end, held: w.held, slot: w.slot})
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
