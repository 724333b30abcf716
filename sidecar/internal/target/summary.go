package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/sidecar/internal/coverage"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Summary is what was seen of one process. Durations are nanoseconds.
type Summary struct {
	PID           int    `json:"pid"` // here, 0 if it cannot be seen from here
	Service       string `json:"service"`
	CommandLine   string `json:"command_line,omitempty"`
	Runtime       string `json:"runtime,omitempty"` // its version
	Source        string `json:"source,omitempty"`  // that saw it: dotnet, gouprobe or gotrace
	Doors         Doors  `json:"doors,omitempty"`   // of a Go program: those that it was seen through
	Sessions      int    `json:"sessions"`          // that were begun
	FirstIndex    uint64 `json:"first_index,omitempty"`
	LastIndex     uint64 `json:"last_index,omitempty"` // the runtime's own count of collections; of gouprobe from the attach on; none of gotrace
	Collections   Counts `json:"collections"`
	Incomplete    uint64 `json:"incomplete,omitempty"` // collections that lack a part
	PauseTotal    int64  `json:"pause_total"`
	PauseMax      int64  `json:"pause_max"`
	SuspendTotal  int64  `json:"suspend_total"` // of the pauses, what it took to stop the threads
	Suspensions   uint64 `json:"suspensions"`   // stops that were not for collections
	SuspensionSum int64  `json:"suspension_total"`
	Lost          uint64 `json:"lost,omitempty"` // events, and records over a limit
	Late          uint64 `json:"late,omitempty"` // stops that came after the watermark had passed them
	Watched       int64  `json:"watched"`
	// PauseShare is PauseTotal in Watched. TimeInGC is the runtime's own "% time
	// in GC" of the last collection, from the end of the one before: it leaves out
	// the time to suspend the threads (SuspendTotal has it of all), and counts
	// what paging and lost CPU took. Both are 0 to 1.
	PauseShare gc.Maybe[float64] `json:"pause_share,omitzero"`
	TimeInGC   gc.Maybe[float64] `json:"time_in_gc,omitzero"`
	Unseen     int64             `json:"unseen"` // since the first session began
	Why        string            `json:"why,omitempty"`
	// Detached is how often the stream of the process was ended because it took
	// more memory or CPU time than its share; DetachedWhy says of which.
	Detached    uint64 `json:"detached,omitempty"`
	DetachedWhy string `json:"detached_why,omitempty"`

	Pulled *Pulled `json:"pprof,omitempty"` // nil if its trace was not asked for

	Slowed slowed.Tally `json:"slowed,omitzero"`

	// GCThreads are the collector's; GCThreadsLeft were over the limit in one look
	// at least. GCThreadsPartly says that a look saw a part of the process's
	// threads only: the collector may have had more.
	GCThreads       []GCThread `json:"gc_threads,omitempty"`
	GCThreadsLeft   int        `json:"gc_threads_left,omitempty"`
	GCThreadsPartly bool       `json:"gc_threads_partly,omitempty"`

	Unexported *otelenv.Unexported `json:"not_exported,omitempty"` // of its telemetry

	order uint64 // when it was first seen
	group string // that it shares with
	inGC  timeInGC
}

// Counts are collections by kind and by the oldest generation collected.
type Counts struct {
	Total       uint64            `json:"total"`
	Kinds       map[string]uint64 `json:"kinds,omitempty"`
	Generations map[string]uint64 `json:"generations,omitempty"`
}

func (c *Counts) add(g *gc.Collection) {
	if c.Kinds == nil {
		c.Kinds, c.Generations = make(map[string]uint64), make(map[string]uint64)
	}
	c.Total++
	c.Kinds[g.Kind.String()]++
	if n, known := g.Generation.Get(); known && n >= 0 && n < int(gc.NumGenerations) {
		c.Generations[gc.GenerationID(n).String()]++
	}
}

// sayCounts says counts in one line, in the order of their names.
func sayCounts(counts map[string]uint64) string {
	words := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(words, ", ")
}

func (s *Summary) collection(c *gc.Collection) {
	s.Collections.add(c)
	if s.FirstIndex == 0 {
		s.FirstIndex = c.Index
	}
	s.LastIndex = max(s.LastIndex, c.Index)
	if c.Origin == stall.Dotnet {
		s.inGC.add(c)
		s.TimeInGC = s.inGC.share
	}
	s.Slowed.Add(c)
	if c.Incomplete != "" {
		s.Incomplete++
	}
}

func (s *Summary) stop(v *dotnetgc.Stop) {
	if !v.Reason.IsGC() {
		s.suspended(v.Duration())
		return
	}
	s.paused(v.Duration())
	if v.Suspended >= v.Start() {
		s.SuspendTotal += int64(v.Suspended.Sub(v.Start()))
	}
}

// paused takes in a stop for a collection.
func (s *Summary) paused(d time.Duration) {
	s.PauseTotal += int64(d)
	s.PauseMax = max(s.PauseMax, int64(d))
}

// suspended takes in a stop that was not for a collection.
func (s *Summary) suspended(d time.Duration) {
	s.Suspensions++
	s.SuspensionSum += int64(d)
}

func (s *Summary) cover(c coverage.Coverage) {
	s.Unseen = int64(c.Unseen)
	s.Watched = max(0, int64(c.Mark.Sub(c.First)-c.Unseen))
	if share, known := s.pauseShare(); known {
		s.PauseShare = gc.Known(share)
	}
}

// pauseShare returns the share of the time that was watched in which the process
// was stopped for collections, and whether any was watched.
func (s *Summary) pauseShare() (float64, bool) {
	if s.Watched <= 0 {
		return 0, false
	}
	return min(1, float64(time.Duration(s.PauseTotal))/float64(s.Watched)), true
}

// timeInGC is the "% time in GC" of the last collection, as the runtime's
// counter has it:
//
//	(TB(n) - TA(n)) / (TB(n) - TB(n-1))
//
// TA is when the threads were suspended, TB just before they resume. It leaves
// out the suspension itself, and counts as GC what paging and lost CPU took
// within the pause.
type timeInGC struct {
	share gc.Maybe[float64]
	last  stall.Instant // TB(n-1), 0 if it was not seen
}

// add takes in the next collection. One that ended before the last did is a
// background one that became known late, and changes nothing.
func (g *timeInGC) add(c *gc.Collection) {
	var inside time.Duration
	var end stall.Instant
	for _, p := range c.Pauses {
		suspend, known := p.Suspend.Get()
		if !known {
			*g = timeInGC{}
			return
		}
		inside += p.Duration() - suspend
		end = max(end, p.End)
	}
	if end <= g.last {
		return
	}
	if g.last != 0 {
		g.share = gc.Known(min(1, float64(inside)/float64(end.Sub(g.last))))
	}
	g.last = end
}

// reset forgets the last collection: there may be others before the next.
func (g *timeInGC) reset() { g.last = 0 }

// end says the last word of the process.
func (p *process) end(ctx context.Context) {
	switch {
	case errors.Is(context.Cause(ctx), errDisplaced):
		p.summary.Why = errDisplaced.Error()
	case p.outside.why != "" && p.summary.Sessions == 0:
		p.summary.Why = "its collections were not watched: " + p.outside.why
	case p.failure != nil && !errors.Is(p.failure, context.Canceled) && p.summary.Sessions == 0:
		p.summary.Why = p.failure.Error()
	case ctx.Err() != nil:
		p.summary.Why = "asked to end"
	default:
		p.summary.Why = "the process ended"
	}
	defer func() { p.tell(p.summary.Why, true) }()
	if p.output == nil {
		return
	}
	if !p.outside.goes {
		p.lookAtThreads(p.Clock.Now())
	}
	p.report(p.Clock.Now(), true)
	p.sayEnd()
	p.closeOutput()
}

// sayEnd says what was seen of the process, in a line that is read at a glance:
// run --json has all of it.
func (p *process) sayEnd() {
	s := &p.summary
	facts := []any{
		"why", s.Why, "collections", s.Collections.Total, "paused", textfmt.Length(time.Duration(s.PauseTotal)),
		"pause_share", percent(s.PauseShare), "longest_pause", textfmt.Length(time.Duration(s.PauseMax)),
	}
	if s.Collections.Total > 0 {
		facts = append(facts, "kinds", sayCounts(s.Collections.Kinds))
	}
	if slowed := s.Slowed.String(); slowed != "" {
		facts = append(facts, "slowed_by_the_machine", slowed)
	}
	if s.Detached > 0 {
		facts = append(facts, "detached", s.Detached, "detached_why", s.DetachedWhy)
	}
	if s.Lost > 0 {
		facts = append(facts, "runtime_events_lost", s.Lost)
	}
	if s.Unseen > 0 {
		facts = append(facts, "unseen", textfmt.Length(time.Duration(s.Unseen)))
	}
	p.log.Info("no longer watched", facts...)
}

// percent writes a share.
func percent(share gc.Maybe[float64]) string {
	if v, known := share.Get(); known {
		return strconv.FormatFloat(100*v, 'f', 3, 64) + "%"
	}
	return "n/a"
}
