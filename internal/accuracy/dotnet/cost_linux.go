package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
)

// setting is one way to watch one kind of service.
type setting struct {
	name  string
	pairs int
	env   []string
	args  func(pid int) []string
}

func byName(int) []string    { return []string{"--target", serviceName()} }
func byPID(pid int) []string { return []string{"--target", strconv.Itoa(pid)} }
func allocating(int) []string {
	return []string{"--target", serviceName(), "--allocations"}
}

func (b *bench) settings() []setting {
	return []setting{
		{"`--target NAME`", b.pairs, nil, byName},
		{"`--target PID`", b.few, nil, byPID},
		{"`--target NAME --allocations`", b.few, nil, allocating},
	}
}

// pair is a stretch without the sidecar and one with it.
type pair struct{ without, with stretch }

func (p *pair) more() float64 {
	return 100 * (p.with.perRequest().Seconds()/p.without.perRequest().Seconds() - 1)
}

// costOf is what a setting came to.
type costOf struct {
	pairs       []pair
	collections uint64
	watched     time.Duration
	lost        uint64
}

// cost interleaves stretches with the sidecar and without it in one process,
// in the order ABBA, so that what changes in it with time favors neither.
func (b *bench) cost(ctx context.Context, set setting) (c costOf, err error) {
	s, err := b.start(ctx, set.env...)
	if err != nil {
		return c, err
	}
	defer s.Kill()
	for i := range set.pairs {
		var p pair
		for _, with := range []bool{i%2 == 1, i%2 == 0} {
			if with {
				p.with, err = b.stretchWith(ctx, s, set, &c)
			} else {
				p.without, err = b.stretch(ctx, s)
			}
			if err != nil {
				return c, err
			}
		}
		c.pairs = append(c.pairs, p)
		b.say("%s: pair %d: %v, with the sidecar %v: %+.2f %%", set.name, i+1, p.without.perRequest(), p.with.perRequest(), p.more())
	}
	return c, s.Stop()
}

// stretch measures one stretch, behind some load that is not.
func (b *bench) stretch(ctx context.Context, s *service) (l stretch, err error) {
	if _, err := s.load(ctx, b.settle); err != nil {
		return l, err
	}
	return s.load(ctx, b.span)
}

func (b *bench) stretchWith(ctx context.Context, s *service, set setting, c *costOf) (l stretch, err error) {
	side, err := b.attach(1, set.args(s.PID())...)
	if err != nil {
		return l, err
	}
	if l, err = b.stretch(ctx, s); err != nil {
		side.kill()
		return l, err
	}
	saw, err := side.detach()
	if err != nil {
		return l, err
	}
	c.collections += saw[0].Collections.Total
	c.watched += time.Duration(saw[0].Watched)
	c.lost += saw[0].Lost
	return l, nil
}

func (b *bench) measureCost(ctx context.Context, s *report.Section) error {
	table := [][]string{{"setting", "requests/s", "collections/s", "CPU per request without", "pairs", "CPU per request more, median", "95 % interval"}}
	raw := [][]string{{"setting", "CPU per request more, %, pair by pair"}}
	lost := uint64(0)
	for _, set := range b.settings() {
		if set.pairs == 0 {
			continue
		}
		c, err := b.cost(ctx, set)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		table, raw = append(table, c.row(set.name)), append(raw, c.raw(set.name))
		lost += c.lost
	}
	s.Para("A .NET 10 server (azmcp, Workstation GC, concurrent) that answers one request after the other with 77 kB of JSON%s. "+
		"Within one process, after %v of load, stretches of %v with the sidecar attached and without it follow each other in the order ABBA, "+
		"each behind %v of load that is not measured. CPU is the process's own CPU clock over the requests that it answered: what the sidecar itself uses is not in it. "+
		"The sidecar exports to a receiver that takes all.", b.placement(), b.warmup, b.span, b.settle)
	s.Table(table)
	s.Para("`--target NAME` (or `auto`) is how it is run by default: collections, stops, and the counters of what the machine does to the process. "+
		"`--target PID` follows the process's threads, too. "+
		"`--allocations` asks for an event about every 100 kB that are allocated. Events lost in all: %d. "+
		"Intervals here and below are those of the median by order statistics, no distribution assumed. The goal is below 1 %%: "+
		"where the interval is wider than that, this table only shows that nothing large was overlooked, and the next one has the figure.", lost)
	s.Table(raw)
	return nil
}

func (b *bench) placement() string {
	if b.service == nil {
		return ""
	}
	return fmt.Sprintf(", pinned to CPU %v; load and sidecar have the others", b.service)
}

func (c *costOf) each(f func(*pair) float64) []float64 {
	values := make([]float64, len(c.pairs))
	for i := range c.pairs {
		values[i] = f(&c.pairs[i])
	}
	return values
}

func (c *costOf) row(name string) []string {
	v := spread.Of(c.each((*pair).more))
	rate := spread.Median(c.each(func(p *pair) float64 { return float64(len(p.without.answers)) / p.without.wall.Seconds() }))
	cpu := spread.Median(c.each(func(p *pair) float64 { return p.without.perRequest().Seconds() * 1e3 }))
	return []string{
		name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.1f", float64(c.collections)/max(1e-9, c.watched.Seconds())),
		fmt.Sprintf("%.3f ms", cpu), strconv.Itoa(len(c.pairs)), fmt.Sprintf("%.2f %%", v.Median), v.String(),
	}
}

func (c *costOf) raw(name string) []string {
	var all []string
	for _, m := range c.each((*pair).more) {
		all = append(all, fmt.Sprintf("%.2f", m))
	}
	return []string{name, strings.Join(all, " ")}
}
