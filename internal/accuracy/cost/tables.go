package main

import (
	"fmt"
	"strings"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
)

// tables holds what goes into the section.
type tables struct {
	cost      [][]string
	saturated [][]string
	raw       [][]string
	cycles    float64 // collections per second, in the first setting
}

func newTables() *tables {
	return &tables{
		cost: [][]string{{"setting", "requests/s", "CPU per request without", "pairs",
			"CPU per request more, median", "95 % interval", "time traced"}},
		saturated: [][]string{{"setting", "requests/s without", "with", "pairs", "throughput less, median", "95 % interval"}},
		raw:       [][]string{{"setting", "CPU per request more, %, pair by pair"}},
	}
}

// moreCPU returns how much more CPU time a request took with otelgc, in percent.
func moreCPU(p trial.Pair) float64 {
	a, b := p.Without.All, p.With.All
	if a.Served == 0 || b.Served == 0 || a.CPU == 0 {
		return 0
	}
	return 100 * (b.CPU.Seconds()/float64(b.Served)/(a.CPU.Seconds()/float64(a.Served)) - 1)
}

func lessThroughput(p trial.Pair) float64 {
	return 100 * (1 - throughput(true)(p)/throughput(false)(p))
}

// throughput returns the requests per second with or without otelgc.
func throughput(with bool) func(trial.Pair) float64 {
	return func(p trial.Pair) float64 {
		part := p.Without.All
		if with {
			part = p.With.All
		}
		return float64(part.Served) / part.Wall.Seconds()
	}
}

func (t *tables) add(name string, rate float64, pairs []trial.Pair) {
	if len(pairs) == 0 {
		return
	}
	more := trial.Each(pairs, moreCPU)
	v := spread.Of(more)
	each := spread.Median(trial.Each(pairs, func(p trial.Pair) float64 {
		return 1e6 * p.Without.All.CPU.Seconds() / max(1, float64(p.Without.All.Served))
	}))
	traced := spread.Median(trial.Each(pairs, func(p trial.Pair) float64 { return 100 * trial.Traced(p.With) }))
	served := spread.Median(trial.Each(pairs, throughput(false)))
	t.cost = append(t.cost, []string{name, fmt.Sprintf("%.0f", served), fmt.Sprintf("%.1f us", each), fmt.Sprint(len(pairs)),
		fmt.Sprintf("%.2f %%", v.Median), v.String(), fmt.Sprintf("%.0f %%", traced)})
	var all []string
	for _, m := range more {
		all = append(all, fmt.Sprintf("%.2f", m))
	}
	t.raw = append(t.raw, []string{name, strings.Join(all, " ")})
	if t.cycles == 0 {
		t.cycles = spread.Median(trial.Each(pairs, func(p trial.Pair) float64 { return float64(p.Without.Cycles) / p.Without.All.Wall.Seconds() }))
	}
	if rate == 0 {
		less := spread.Of(trial.Each(pairs, lessThroughput))
		t.saturated = append(t.saturated, []string{name, fmt.Sprintf("%.0f", served),
			fmt.Sprintf("%.0f", spread.Median(trial.Each(pairs, throughput(true)))), fmt.Sprint(len(pairs)),
			fmt.Sprintf("%.2f %%", less.Median), less.String()})
	}
}

// write puts the figures and how they came about into s.
func (e *experiment) write(s *report.Section, t *tables, rate float64) {
	s.Para("A service of net/http and encoding/json that decodes, prices and answers an order of eight lines; %d MB long-lived heap, %.1f collections a second; %s. "+
		"It can answer %.0f requests/s; below saturation it gets %.0f, evenly, over %d connections. "+
		"With otelgc means its middleware, metrics through the SDK (read every 10 s) and events through the SDK's batching, dropped by the exporters. Without means none of these.",
		e.live, t.cycles, e.Placement(), e.saturation, rate, e.Conns)
	s.Table(t.cost)
	s.Table(t.saturated)
	s.Para("Each run is a process of its own; the first %v are discarded, then at least %v are measured, in the order ABBA. "+
		"A run whose tracer rests is measured from the begin of one slice to the begin of another, so that it holds whole duty cycles. "+
		"CPU is getrusage of the service over the requests it served. The interval is that of the median by order statistics (sign test), no distribution assumed.",
		e.Warmup, e.Span)
	if e.Unaligned > 0 {
		s.Para("%d runs saw no slice begin within %v and are measured over the bare span.", e.Unaligned, e.SliceWait)
	}
	s.Table(t.raw)
}
