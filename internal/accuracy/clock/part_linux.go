package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// part is what the samples of a stretch of time came to.
type part struct {
	samples int
	inside  int             // of them, in a gap
	into    []time.Duration // how far into the gap, sorted
}

// longest is the longest gap that is compared: in a longer one more happened than
// the sample.
const longest = 50 * time.Microsecond

// compare holds samples against gaps, both in order, by parts of a length.
func compare(samples []stall.Instant, gaps []jitterprobe.Gap, length time.Duration) []*part {
	var parts []*part
	if len(samples) == 0 {
		return nil
	}
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

// shortest returns the distance that one sample in a hundred is below, zero for
// none: what else happens on the machine makes the way longer, never shorter.
func (p *part) shortest() time.Duration {
	if len(p.into) == 0 {
		return 0
	}
	return p.into[len(p.into)/100]
}

// least returns the shortest distance of all parts.
func least(parts []*part) time.Duration {
	d := parts[0].shortest()
	for _, p := range parts {
		d = min(d, p.shortest())
	}
	return d
}

// drift returns how much longer the distance is in the last n parts than in the
// first n, each at its least: in a part the machine may have been busy all the
// time.
func drift(parts []*part, n int) time.Duration {
	return least(parts[len(parts)-n:]) - least(parts[:n])
}

// mostDrift is how far the timestamps may drift.
const mostDrift = time.Microsecond

func write(s *report.Section, e *experiment, parts []*part) error {
	n := int((e.span - e.after) / e.part)
	if n < 1 || len(parts) < n+1 {
		return fmt.Errorf("-span %v -after %v -part %v: %d whole parts, want one after that time and one before", e.span, e.after, e.part, len(parts))
	}
	s.Para("A spinning probe on CPU %d, which the kernel interrupts every %v and stamps itself, by CLOCK_MONOTONIC. The stamp lies in the probe's gap, "+
		"as far from its start as the way into the kernel takes. If the probe's timestamps drifted, that distance would. What else happens on the machine "+
		"makes it longer: so it is the one that a hundredth of the samples stays below.", e.cpu, sampleEvery)
	rows := [][]string{{"after", "samples", "in a gap", "into the gap, first hundredth", "against the least"}}
	all, inside := 0, 0
	for i, p := range parts {
		all, inside = all+p.samples, inside+p.inside
		rows = append(rows, []string{
			(time.Duration(i) * e.part).String(), fmt.Sprint(p.samples), fmt.Sprintf("%.2f %%", 100*float64(p.inside)/float64(max(1, p.samples))),
			fmt.Sprintf("%d ns", p.shortest().Nanoseconds()), fmt.Sprintf("%+d ns", (p.shortest() - least(parts)).Nanoseconds()),
		})
	}
	s.Table(rows)
	d := drift(parts, n)
	word := "met"
	if d.Abs() > mostDrift {
		word = "not met"
	}
	s.Para("%d of %d samples (%.2f %%) lie in a gap. From the first %v to the %v after %v the least distance changed by %+d ns (wanted: at most %v; %s).",
		inside, all, 100*float64(inside)/float64(max(1, all)), time.Duration(n)*e.part, time.Duration(n)*e.part, e.after, d.Nanoseconds(), mostDrift, word)
	if d.Abs() > mostDrift {
		return fmt.Errorf("drift of timestamps in %v is %v: %w", e.after, d, report.ErrUnmet)
	}
	return nil
}
