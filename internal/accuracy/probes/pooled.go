package main

import (
	"fmt"
	"math"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/service"
)

// pooled is what all runs of one setting saw.
type pooled struct {
	usage service.Usage
	note  string // why a probe did not run as it was asked to
}

func (p *pooled) add(u service.Usage) {
	t := &p.usage
	t.All.Wall += u.All.Wall
	t.All.CPU += u.All.CPU
	t.All.Served += u.All.Served
	t.Cycles += u.Cycles
	t.Stopping, t.Stops = sum(t.Stopping, u.Stopping), sum(t.Stops, u.Stops)
	if u.Note != "" {
		p.note = u.Note
	}
}

func sum(a, b []uint64) []uint64 {
	s := make([]uint64, len(b))
	for i := range s {
		s[i] = b[i]
		if i < len(a) {
			s[i] += a[i]
		}
	}
	return s
}

// quantile returns the value, in microseconds, below which the fraction q of
// what was counted lies: the middle of its bucket, on a logarithmic scale.
func quantile(counts []uint64, bounds []float64, q float64) float64 {
	var total, seen uint64
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return math.NaN()
	}
	rank := max(1, uint64(math.Ceil(q*float64(total))))
	for i, n := range counts {
		if seen += n; seen >= rank {
			return 1e6 * middle(bounds[i], bounds[i+1])
		}
	}
	return math.NaN()
}

// micros writes a number of microseconds to the precision of the buckets.
func micros(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// middle returns the geometric middle of a bucket, of which one bound may be
// zero or infinite.
func middle(low, high float64) float64 {
	switch {
	case math.IsInf(low, -1) || low <= 0:
		return max(high, 0)
	case math.IsInf(high, 1):
		return low
	}
	return math.Sqrt(low * high)
}

// write puts the figures and how they came about into s.
func (e *experiment) write(s *report.Section, all []pooled) {
	bounds := service.StopBounds()
	rows := [][]string{{"probe", "collections/s", "stopping p50", "p90", "max", "whole pause p50", "p90", "max", "CPUs of the service's process"}}
	for i, p := range all {
		u := p.usage
		row := []string{settings[i].name, fmt.Sprintf("%.0f", float64(u.Cycles)/u.All.Wall.Seconds())}
		for _, counts := range [][]uint64{u.Stopping, u.Stops} {
			for _, q := range []float64{0.5, 0.9, 1} {
				row = append(row, micros(quantile(counts, bounds, q)))
			}
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", u.All.Cores())))
	}
	s.Para("Stop-the-world pauses for garbage collection of a service of %.0f requests/s that collects %d times a second (forced), %d MB long-lived heap, "+
		"in microseconds, by the runtime's own metrics, whose buckets are a fifth of their value wide. %d runs of %v each, in turn; %s.",
		e.rate, e.forced, e.live, e.rounds, e.Span, e.Placement())
	s.Table(rows)
	for i, p := range all {
		if p.note != "" {
			s.Para("%s did not run as asked for: %s.", settings[i].name, p.note)
		}
	}
}
