// Package probe compares the spinning probe with two others that watch the same CPU: the
// kernel, which stamps interrupts, and oslat.
package probe

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/kernel"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Clock measures whether the time stamps of a spinning probe drift away from
// CLOCK_MONOTONIC. The kernel interrupts the probe's CPU a thousand times a second
// and stamps each interrupt itself. How far its stamp lies into the probe's gap is
// the way into the kernel, which must be as long after a minute. It needs root.
func Clock() harness.Experiment {
	return harness.Experiment{Name: "clock", Title: "Time stamps of the probe against the kernel's", Answer: "Do the probe's time stamps drift from the kernel's clock?", Measurement: new(clock)}
}

type clock struct{ span, part, after time.Duration }

func (e *clock) Flags(f *flag.FlagSet) {
	f.DurationVar(&e.span, "span", 80*time.Second, "length of the measurement")
	f.DurationVar(&e.after, "after", time.Minute, "time in which the stamps may drift: what comes after it is compared with as much at the start")
	f.DurationVar(&e.part, "part", 5*time.Second, "length of the parts that are compared")
}

func (e *clock) Measure(ctx context.Context, p *harness.Page) error {
	stalls, err := stall.NewClock()
	if err != nil {
		return err
	}
	var samples []stall.Instant
	gaps, s, err := harness.Probe(jitterprobe.Options{Mode: jitterprobe.Spin, Force: true, Clock: stalls}, func(probe *jitterprobe.Probe) (err error) {
		if probe.Mode() != jitterprobe.Spin {
			return fmt.Errorf("probe: %s", probe.Note())
		}
		samples, err = kernel.Interrupt(ctx, probe.CPU(), time.Now().Add(e.span))
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return err
	}
	parts := compare(samples, gaps, e.part)
	p.Logf("%d samples, %d gaps, %d parts", len(samples), len(gaps), len(parts))
	return e.write(p, s.CPU, parts)
}

// part is what the samples of a stretch of time came to.
type part struct {
	samples int
	inside  int             // of them, in a gap
	into    []time.Duration // how far into the gap, sorted
}

// longest is the longest gap that is compared. A longer one has further causes, besides
// the sample.
const longest = 50 * time.Microsecond

// compare finds the gap of each sample, and returns the samples by parts of a length. Both
// lists are in order.
func compare(samples []stall.Instant, gaps []jitterprobe.Gap, length time.Duration) []*part {
	var parts []*part
	next := 0
	for _, at := range samples {
		i := int(at.Sub(samples[0]) / length)
		for len(parts) <= i {
			parts = append(parts, &part{})
		}
		for next < len(gaps) && gaps[next].End.Add(gaps[next].Slack) < at {
			next++
		}
		p := parts[i]
		p.samples++
		if next == len(gaps) || gaps[next].Start.Add(-gaps[next].Slack) > at {
			continue
		}
		p.inside++
		if g := &gaps[next]; g.Duration() <= longest {
			p.into = append(p.into, at.Sub(g.Start))
		}
	}
	if len(parts) > 1 {
		parts = parts[:len(parts)-1] // it is not whole
	}
	for _, p := range parts {
		slices.Sort(p.into)
	}
	return parts
}

// shortest returns the distance that one sample in a hundred is below; zero if there are
// none. Other work on the machine makes the way longer, never shorter.
func (p *part) shortest() time.Duration {
	if len(p.into) == 0 {
		return 0
	}
	return p.into[len(p.into)/100]
}

// least returns the shortest distance of all parts.
func least(parts []*part) time.Duration {
	return slices.MinFunc(parts, func(a, b *part) int { return int(a.shortest() - b.shortest()) }).shortest()
}

// drift returns how much longer the distance is in the last n parts than in the
// first n, each at its least: in a part the machine may have been busy all the
// time.
func drift(parts []*part, n int) time.Duration {
	return least(parts[len(parts)-n:]) - least(parts[:n])
}

// mostDrift is how far the timestamps may drift.
const mostDrift = time.Microsecond

func (e *clock) write(p *harness.Page, cpu int, parts []*part) error {
	n := int((e.span - e.after) / e.part)
	if n < 1 || len(parts) < n+1 {
		return fmt.Errorf("-span %v -after %v -part %v: %d whole parts, want one after that time and one before", e.span, e.after, e.part, len(parts))
	}
	p.Para("A spinning probe on CPU %d, which the kernel interrupts every %v and stamps itself, by CLOCK_MONOTONIC. The stamp lies in the probe's gap, "+
		"as far from its start as the way into the kernel takes. If the probe's time stamps drifted, that distance would change. Whatever else happens on the machine "+
		"makes it longer: the table has the distance that one sample in a hundred is below.", cpu, kernel.InterruptEvery)
	rows := harness.NewTable("after | samples | in a gap | distance, lowest hundredth | against the least")
	all, inside := 0, 0
	for i, v := range parts {
		all, inside = all+v.samples, inside+v.inside
		rows.Row("%v | %d | %.2f %% | %d ns | %+d ns", time.Duration(i)*e.part, v.samples, 100*float64(v.inside)/float64(max(1, v.samples)),
			v.shortest(), v.shortest()-least(parts))
	}
	p.Table(rows)
	d := drift(parts, n)
	p.Para("%d of %d samples (%.2f %%) lie in a gap. From the first %v to the %v after %v the least distance changed by %+d ns (wanted: at most %v; %s).",
		inside, all, 100*float64(inside)/float64(max(1, all)), time.Duration(n)*e.part, time.Duration(n)*e.part, e.after, d.Nanoseconds(), mostDrift, harness.Met(d.Abs() <= mostDrift))
	if d.Abs() > mostDrift {
		return fmt.Errorf("drift of time stamps in %v is %v: %w", e.after, d, harness.ErrUnmet)
	}
	return nil
}
