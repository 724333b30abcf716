package jitterprobe

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"github.com/otelgc/otelgc/stall"
)

// Trial is what a probe that ran for a moment says of itself.
type Trial struct {
	Summary
	// Span is how long the trial was by the clock. Counted is the same by the
	// cycle counter, at the rate that it had just before; zero if the mode reads
	// no counter.
	Span, Counted time.Duration
	// Seen is the part of Span, 0 to 1, of which the probe can say what
	// happened.
	Seen float64
	// Own is what the probe's thread did to itself, nil where that is not
	// known: only a thread of mode Spin is apart from the Go runtime.
	Own *Own
	// Apart bounds the difference between the counters of CPUs that were
	// compared with that of the first one; CPUs is their number.
	Apart time.Duration
	CPUs  int
	// Limits says which causes the probe could not have decided.
	Limits []Limit
}

// Own counts what a thread that only spins never does.
type Own struct {
	Signals uint64 // that were sent to it, and wait for ever
	// Switches are voluntary context switches, without those of a signal, a debugger
	// or a freezer that stopped it, where the probe saw that.
	Switches uint64
}

// calibrateFor is how long the rate of the counter is measured: the bracket of
// an anchor is 30 ns, so the rate is good to a part in a million.
const calibrateFor = 100 * time.Millisecond

// Try runs a probe for d, and holds what it says against the clock.
func Try(o Options, d time.Duration) (Trial, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Trial{}, err
	}
	var nanos float64 // per tick
	usable := spin.Usable("/") == nil
	if usable {
		from := spin.TakeAnchor(o.Clock)
		time.Sleep(calibrateFor)
		nanos = between(from, spin.TakeAnchor(o.Clock))
	}
	p, err := Start(o)
	if err != nil {
		return Trial{}, err
	}
	awaitLook(p, 1)
	before := readOwn(p.loop.tid)
	from := spin.TakeAnchor(o.Clock)
	time.Sleep(d)
	to := spin.TakeAnchor(o.Clock)
	after := readOwn(p.loop.tid)
	awaitLook(p, to.At) // a probe that sleeps has seen the end when it wakes up

	t := Trial{Summary: p.Stop(), Span: to.At.Sub(from.At), Limits: p.Limits()}
	t.Seen = seenOf(&t.Snapshot, stall.Span{Start: from.At, End: to.At})
	if t.Mode == Periodic || !usable {
		return t, nil
	}
	t.Counted = time.Duration(float64(to.Ticks-from.Ticks) * nanos)
	if t.Mode == Spin && before != nil && after != nil {
		switches := after.Switches - before.Switches // the kernel counts a stop as one
		t.Own = &Own{after.Signals, switches - min(switches, t.Causes[stall.HostSuspended].N)}
	}
	if t.Apart, t.CPUs, err = compareCPUs(nanos); err != nil {
		return t, fmt.Errorf("compare counters: %w", err)
	}
	return t, nil
}

func between(a, b spin.Anchor) float64 {
	return float64(b.At.Sub(a.At)) / float64(max(1, b.Ticks-a.Ticks))
}

// lookPatience bounds the wait for a thread that does not get its CPU.
const lookPatience = 2 * time.Second

// awaitLook waits until the probe has seen everything before t.
func awaitLook(p *Probe, t stall.Instant) {
	for deadline := time.Now().Add(lookPatience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s := p.Snapshot(); s.Watermark >= t {
			return
		}
	}
}

// seenOf returns the part of span that s speaks of.
func seenOf(s *Snapshot, span stall.Span) float64 {
	if span.Empty() {
		return 0
	}
	seen := min(s.Watermark, span.End).Sub(max(s.Start, span.Start)) - s.DroppedTime
	return max(0, float64(seen)/float64(span.Duration()))
}
