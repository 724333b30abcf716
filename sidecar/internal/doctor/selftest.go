package doctor

import (
	"fmt"
	"math"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Limits of the self-test.
const (
	maxClockError = 1e-4             // the counter against CLOCK_MONOTONIC
	maxUncovered  = 1e-4             // time that the probe has lost sight of
	maxApart      = time.Microsecond // counters of two CPUs
)

// selfTests runs a probe for a moment, and holds what it says of itself
// against the clock.
func (m *machine) selfTests(o Options) []Check {
	if o.SelfTest < 0 {
		return nil
	}
	if o.SelfTest == 0 {
		o.SelfTest = DefaultSelfTest
	}
	t, err := m.selfTest(jitterprobe.Options{Mode: o.Mode, CPU: o.CPU, Interrupts: true}, o.SelfTest)
	if err != nil {
		m.learn(noProbe(err))
		return []Check{about("selftest", "").fail(err.Error(), "the probe cannot run here")}
	}
	m.tested = true
	m.learn(t.Limits)
	return []Check{ran(&t, m.mode), counter(&t), covered(&t), own(&t), together(&t), drift(&t), seen(&t)}
}

// ran judges whether the mode ran that was to be judged.
func ran(t *jitterprobe.Trial, want jitterprobe.Mode) Check {
	c := about("selftest.mode", "")
	value := fmt.Sprintf("%s, %v", t.Mode, t.Span.Round(time.Millisecond))
	if t.CPU >= 0 {
		value = fmt.Sprintf("%s on CPU %d, %v", t.Mode, t.CPU, t.Span.Round(time.Millisecond))
	}
	if t.Mode != want {
		return c.warn(value+", not "+want.String(), t.Note)
	}
	return c.ok(value)
}

// counter judges whether the counter runs at the rate of the clock.
func counter(t *jitterprobe.Trial) Check {
	c := about("selftest.counter", "")
	if t.Counted <= 0 || t.Span <= 0 {
		return c.none("mode " + t.Mode.String() + " reads no counter")
	}
	off := float64(t.Counted)/float64(t.Span) - 1
	value := fmt.Sprintf("%+.2f ppm against CLOCK_MONOTONIC", 1e6*off)
	if math.Abs(off) > maxClockError {
		return c.fail(value, "the counter does not keep time: its gaps have wrong lengths and places; use --mode periodic")
	}
	return c.ok(value)
}

// covered judges whether the probe can say of all the time what happened.
func covered(t *jitterprobe.Trial) Check {
	c := about("selftest.covered", "")
	value := fmt.Sprintf("%.4f %%, %d gaps dropped", 100*t.Seen, t.Dropped+t.Backward)
	if t.Seen < 1-maxUncovered {
		return c.fail(value, "gaps may be missing from the numbers: is the threshold so low that each look counts?")
	}
	return c.ok(value)
}

// own judges whether the probe disturbs itself.
func own(t *jitterprobe.Trial) Check {
	c := about("selftest.own", "")
	if t.Own == nil {
		return c.none("mode " + t.Mode.String() + " runs on a thread that is not its own, or its counts cannot be read")
	}
	value := fmt.Sprintf("%d signals, %d switches of its own doing", t.Own.Signals, t.Own.Switches)
	if t.Own.Signals+t.Own.Switches > 0 {
		return c.fail(value, "the probe measures itself")
	}
	return c.ok(value)
}

// together judges whether the counters of all CPUs show the same time.
func together(t *jitterprobe.Trial) Check {
	c := about("selftest.cpus", "")
	if t.CPUs < 2 {
		return c.none("one CPU, or no counter")
	}
	value := fmt.Sprintf("%d counters within %v of each other", t.CPUs, t.Apart)
	if t.Apart > maxApart {
		return c.warn(value, "gaps of probes on different CPUs cannot be compared more closely than this")
	}
	return c.ok(value)
}

// drift tells whether a look takes as long at the end as at the beginning. It
// follows the frequency, and spoils no time stamp.
func drift(t *jitterprobe.Trial) Check {
	c := about("selftest.drift", "")
	if t.Loop <= 0 {
		return c.none("no loop in mode " + t.Mode.String())
	}
	return c.info(fmt.Sprintf("loop %.2f ns, looks and gaps make up %.3f %%", t.Loop, 100*t.Balance), "")
}

// seen tells what the probe saw meanwhile.
func seen(t *jitterprobe.Trial) Check {
	c := about("selftest.gaps", "")
	var long uint64
	for _, n := range t.Counts {
		if n.AtLeast == 10*time.Microsecond {
			long = n.N
		}
	}
	rate := float64(long) / max(t.Span.Seconds(), 1e-9)
	longest := t.Longest
	value := fmt.Sprintf("%.0f gaps of 10 us or more per second, longest %v", rate, longest.Duration().Round(time.Microsecond))
	if longest.Cause != stall.NoCause {
		value += ", " + longest.Cause.String()
	}
	return c.info(value, "")
}
