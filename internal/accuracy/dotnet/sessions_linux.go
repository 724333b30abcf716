package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

// measureAmplified writes what one session costs, by many.
func (b *bench) measureAmplified(ctx context.Context, s *report.Section) error {
	if b.rounds == 0 {
		return nil
	}
	table := [][]string{{
		"setting", "sessions at once", "rounds", "collections/s", "CPU per request more, median", "95 % interval",
		"of it each session", "95 % interval", "a session's own thread, of one CPU", "events/s of a session",
	}}
	found := make(map[string]*amplified)
	var fixed []string
	lost := uint64(0)
	for _, one := range b.amplifiers() {
		if one.rounds == 0 {
			continue
		}
		a, err := b.amplify(ctx, one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		found[a.name] = a
		for at := range a.levels[1:] {
			table = append(table, a.row(at+1))
		}
		for _, r := range a.beats {
			for i := range r {
				lost += r[i].seen.lost
			}
		}
		fixed = append(fixed, fmt.Sprintf("%s %.2f %% (%s)", a.name, a.fixed().Median, a.fixed()))
	}
	levels := found[usual].levels
	most := levels[len(levels)-1]
	s.Para("**One session, by many at once.** The runtime writes every event once for each session, into buffers of that session, and each session has a thread of "+
		"its own that sends them every 100 ms. So %d sessions with exactly the sidecar's provider, keywords, level and event ids cost that part %d times, and their cost divided by "+
		"their number is that of one, with %d times less noise. Within one process, stretches of %v with %s sessions follow each other, "+
		"up and down in turn, each behind %v that are not measured. Every session is drained on the other CPUs and thrown away. "+
		"Many collections: `DOTNET_GCgen0size=40000`.",
		most, most, most, b.beat, numbers(levels), b.beat/4)
	s.Table(table)
	s.Para("The division assumes that the cost grows with the number of sessions: then each session's share is the same in the last two rows of a setting. "+
		"It leaves out what is done once however many there are, such as to make the event before it is written. That is 2 × the row before the last - the last: %s. "+
		"A session's own thread is by its `schedstat`, and is in the CPU per request already. Events lost in all: %d.", strings.Join(fixed, "; "), lost)
	s.Para("%s", found[many].told(found[usual]))
	s.Para("Not in these figures: what the sidecar itself uses, and what `--target PID` has the kernel do at each switch of a thread, which only the first table has.")
	return nil
}

// told says what one session costs with all its parts at the usual rate of
// collections, by a service that has many.
func (a *amplified) told(at *amplified) string {
	factor, v := at.rate()/a.rate(), a.more(1)
	if !(factor > 0) || math.IsInf(factor, 0) {
		return "**All parts of one session:** n/a, too few collections were seen."
	}
	return fmt.Sprintf("**All parts of one session:** where collections are many, the row of one session has both parts, and there are %.1f times as many collections in a second of the "+
		"service's CPU as with the default heap. Divided by that, one session costs **%.3f %%** of the CPU per request with the default heap (%s). That assumes that the cost is one of "+
		"collections, which all of the sidecar's events are of; the 10 wake-ups a second of the session's thread are in the column of that.",
		1/factor, v.Median*factor, times(v, factor))
}
