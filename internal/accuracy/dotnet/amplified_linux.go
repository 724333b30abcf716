package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// The runtime writes every event once for each session, into buffers of that
// session, and each session has a thread of its own that sends them. So many
// sessions cost what one does many times over, which one alone does not show in
// the noise of a machine. What is done once for all sessions is made more by
// more collections.

// amplifier is one kind of service, and what the sessions ask it for.
type amplifier struct {
	name   string
	rounds int
	levels []int // numbers of sessions that a round goes through
	env    []string
	ask    dotnetipc.Request
}

const (
	usual = "default heap"
	many  = "many collections"
)

func (b *bench) amplifiers() []amplifier {
	levels := []int{0, 1, b.sessions / 2, b.sessions}
	return []amplifier{
		{usual, b.rounds, levels, nil, request()},
		{many, b.rounds, levels, []string{"DOTNET_GCgen0size=40000"}, request()},
		{usual + ", `--allocations`", b.rounds * 2 / 5, levels, nil, allocatingRequest()},
	}
}

// beat is what a service did in one stretch with some sessions.
type beat struct {
	stretch
	streaming time.Duration // CPU of the threads that write the sessions
	seen      seen          // by the first
}

// amplified is what an amplifier came to: of each round a beat for each level.
type amplified struct {
	amplifier
	beats [][]beat
}

// amplify goes through the levels, up and down in turn, so that what changes in
// the process or the machine with time favors none.
func (b *bench) amplify(ctx context.Context, a amplifier) (*amplified, error) {
	s, err := b.start(ctx, a.env...)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	all := &amplified{amplifier: a}
	last := len(a.levels) - 1
	for i := range a.rounds {
		round := make([]beat, len(a.levels))
		for at := range a.levels {
			if i%2 == 1 {
				at = last - at
			}
			if round[at], err = b.beatWith(ctx, s, a.levels[at], a.ask); err != nil {
				return nil, err
			}
		}
		all.beats = append(all.beats, round)
		b.say("%s: round %d: %v, with %d sessions %v", a.name, i+1, round[0].perRequest(), a.levels[last], round[last].perRequest())
	}
	return all, s.Stop()
}

func (b *bench) beatWith(ctx context.Context, s *service, n int, ask dotnetipc.Request) (v beat, err error) {
	c, err := gather(ctx, s, n, ask)
	if err != nil {
		return v, err
	}
	if _, err = s.load(ctx, b.beat/4); err == nil {
		var before, after time.Duration
		if _, before, err = s.streaming(); err == nil {
			v.stretch, err = s.load(ctx, b.beat)
		}
		if err == nil {
			_, after, err = s.streaming()
		}
		v.streaming = after - before
	}
	if err != nil {
		c.close()
		return v, err
	}
	v.seen, err = c.disperse(ctx, s)
	return v, err
}

// more returns how much more CPU a request took in v than in o, in percent.
func (v *beat) more(o *beat) float64 {
	return 100 * (v.perRequest().Seconds()/o.perRequest().Seconds() - 1)
}

// each returns f of every round.
func (a *amplified) each(f func(r []beat) float64) (all []float64) {
	for _, r := range a.beats {
		all = append(all, f(r))
	}
	return all
}

// median returns the middle of f of the beats of one level.
func (a *amplified) median(at int, f func(v *beat) float64) float64 {
	return spread.Median(a.each(func(r []beat) float64 { return f(&r[at]) }))
}

// more returns how much more CPU a request takes with the sessions of a level.
func (a *amplified) more(at int) spread.Interval {
	return spread.Of(a.each(func(r []beat) float64 { return r[at].more(&r[0]) }))
}

// fixed returns what of that does not grow with their number.
func (a *amplified) fixed() spread.Interval {
	last := len(a.levels) - 1
	return spread.Of(a.each(func(r []beat) float64 { return 2*r[last-1].more(&r[0]) - r[last].more(&r[0]) }))
}

// rate returns the collections in a second of the service's CPU.
func (a *amplified) rate() float64 {
	return a.median(1, (*beat).collections) / a.median(0, func(v *beat) float64 { return v.cpu.Seconds() / v.wall.Seconds() })
}

func (v *beat) collections() float64 {
	return float64(v.seen.collections) / max(1e-9, v.seen.span.Seconds())
}
func (v *beat) events() float64 { return float64(v.seen.events) / max(1e-9, v.seen.span.Seconds()) }

func (a *amplified) row(at int) []string {
	n := a.levels[at]
	all, one := a.more(at), 1/float64(n)
	return []string{
		a.name, strconv.Itoa(n), strconv.Itoa(len(a.beats)), fmt.Sprintf("%.1f", a.median(at, (*beat).collections)),
		fmt.Sprintf("%.2f %%", all.Median), all.String(), fmt.Sprintf("%.3f %%", all.Median*one), times(all, one),
		fmt.Sprintf("%.3f %%", a.median(at, func(v *beat) float64 { return 100 * v.streaming.Seconds() / v.wall.Seconds() * one })),
		fmt.Sprintf("%.0f", a.median(at, (*beat).events)),
	}
}

// times writes an interval times a factor, with three digits.
func times(v spread.Interval, factor float64) string {
	if v.Confidence == 0 {
		return v.String()
	}
	return fmt.Sprintf("%.3f to %.3f", v.Low*factor, v.Hi*factor)
}

// numbers writes a list such as "0, 1, 20 and 40".
func numbers(list []int) string {
	var text []string
	for _, n := range list[:len(list)-1] {
		text = append(text, strconv.Itoa(n))
	}
	return strings.Join(text, ", ") + " and " + strconv.Itoa(list[len(list)-1])
}
