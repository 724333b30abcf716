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

// testSelf runs a probe for a moment, and returns the checks of its figures.
func (m *machine) testSelf(o Options) []check {
	if o.SelfTest < 0 {
		return nil
	}
	if o.SelfTest == 0 {
		o.SelfTest = DefaultSelfTest
	}
	t, err := m.selfTest(jitterprobe.Options{Mode: o.Mode, CPU: o.CPU, Interrupts: true}, o.SelfTest)
	if err != nil {
		m.limits = noProbe(err)
		return []check{{"selftest", "", func(*machine, string) Check { return fail(err.Error(), "the probe cannot run here") }}}
	}
	m.trial, m.limits = &t, t.Limits
	return []check{
		{"selftest.mode", "", testedMode},
		{"selftest.counter", "", testedCounter},
		{"selftest.covered", "", testedCoverage},
		{"selftest.own", "", testedOwn},
		{"selftest.cpus", "", testedCPUs},
		{"selftest.drift", "", testedDrift},
		{"selftest.gaps", "", testedGaps},
	}
}

// testedMode checks whether the probe ran in the mode that was asked for.
func testedMode(m *machine, _ string) Check {
	t := m.trial
	value := t.Mode.String()
	if t.CPU >= 0 {
		value += fmt.Sprintf(" on CPU %d", t.CPU)
	}
	value += fmt.Sprintf(", %v", t.Span.Round(time.Millisecond))
	if t.Mode != m.mode {
		return warn(value+", not "+m.mode.String(), t.Note)
	}
	return ok(value)
}

// testedCounter checks whether the counter runs at the rate of the clock.
func testedCounter(m *machine, _ string) Check {
	t := m.trial
	if t.Counted <= 0 || t.Span <= 0 {
		return unknown("mode " + t.Mode.String() + " reads no counter")
	}
	off := float64(t.Counted)/float64(t.Span) - 1
	value := fmt.Sprintf("%+.2f ppm against CLOCK_MONOTONIC", 1e6*off)
	if math.Abs(off) > maxClockError {
		return fail(value, "the counter does not keep time: its gaps have wrong lengths and places; use --mode periodic")
	}
	return ok(value)
}

// testedCoverage checks whether the probe covered all of the time.
func testedCoverage(m *machine, _ string) Check {
	t := m.trial
	value := fmt.Sprintf("%.4f %%, %d gaps dropped", 100*t.Seen, t.Dropped+t.Backward)
	if t.Seen < 1-maxUncovered {
		return fail(value, "gaps may be missing from the numbers: is the threshold so low that each look counts?")
	}
	return ok(value)
}

// testedOwn checks whether the probe disturbs itself.
func testedOwn(m *machine, _ string) Check {
	t := m.trial
	if t.Own == nil {
		return unknown("mode " + t.Mode.String() + " runs on a thread that is not its own, or its counts cannot be read")
	}
	value := fmt.Sprintf("%d signals, %d switches of its own doing", t.Own.Signals, t.Own.Switches)
	if t.Own.Signals+t.Own.Switches > 0 {
		return fail(value, "the probe measures itself")
	}
	return ok(value)
}

// testedCPUs checks whether the counters of all CPUs show the same time.
func testedCPUs(m *machine, _ string) Check {
	t := m.trial
	if t.CPUs < 2 {
		return unknown("one CPU, or no counter")
	}
	value := fmt.Sprintf("%d counters within %v of each other", t.CPUs, t.Apart)
	if t.Apart > maxApart {
		return warn(value, "gaps of probes on different CPUs cannot be compared more closely than this")
	}
	return ok(value)
}

// testedDrift reports how long a look took, and how much of the time looks and gaps make
// up. Both follow the CPU's frequency; the time stamps do not.
func testedDrift(m *machine, _ string) Check {
	t := m.trial
	if t.Loop <= 0 {
		return unknown("no loop in mode " + t.Mode.String())
	}
	return info(fmt.Sprintf("loop %.2f ns, looks and gaps make up %.3f %%", t.Loop, 100*t.Balance), "")
}

// testedGaps reports what the probe saw meanwhile.
func testedGaps(m *machine, _ string) Check {
	t := m.trial
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
	return info(value, "")
}
