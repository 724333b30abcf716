package dotnet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet/events"
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
	Sessions      int    `json:"sessions"`          // that were begun
	FirstIndex    uint64 `json:"first_index,omitempty"`
	LastIndex     uint64 `json:"last_index,omitempty"` // the runtime's own count of collections
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

	Slowed slowed.Tally `json:"slowed,omitzero"`

	// GCThreads are the collector's; GCThreadsLeft were over the limit in one look
	// at least. GCThreadsPartly says that a look saw a part of the process's
	// threads only: the collector may have had more.
	GCThreads       []GCThread `json:"gc_threads,omitempty"`
	GCThreadsLeft   int        `json:"gc_threads_left,omitempty"`
	GCThreadsPartly bool       `json:"gc_threads_partly,omitempty"`

	Allocations *dotnetgc.Allocations `json:"allocations,omitempty"` // nil if not asked for

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
	s.inGC.add(c)
	s.TimeInGC = s.inGC.share
	s.Slowed.Add(c)
	if c.Incomplete != "" {
		s.Incomplete++
	}
}

func (s *Summary) stop(v *dotnetgc.Stop) {
	d := int64(v.Duration())
	if !v.Reason.IsGC() {
		s.Suspensions++
		s.SuspensionSum += d
		return
	}
	s.PauseTotal += d
	s.PauseMax = max(s.PauseMax, d)
	if v.Suspended >= v.Start() {
		s.SuspendTotal += int64(v.Suspended.Sub(v.Start()))
	}
}

func (s *Summary) cover(c events.Coverage) {
	s.Unseen = int64(c.Unseen)
	s.Watched = max(0, int64(c.Mark.Sub(c.First)-c.Unseen))
	if share, known := s.paused(); known {
		s.PauseShare = gc.Known(share)
	}
}

// paused returns the share of the time that was watched in which the process
// was stopped for collections, and whether any was watched.
func (s *Summary) paused() (float64, bool) {
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

const (
	// maxAllocators bounds the threads that are kept apart, maxNamedAllocators
	// those that the summary names.
	maxAllocators      = 1024
	maxNamedAllocators = 64
	// allocatorBytes is the memory of one of them, at most.
	allocatorBytes = 256
)

// costOfAllocations is logged for a user that asked for them.
const costOfAllocations = "one event about every 100 kB that the process allocates, with the CPU time that it takes there"

// allocations sums up what the sessions with one process say. The zero value is
// off.
type allocations struct {
	on       bool
	byThread map[uint64]*dotnetgc.Allocation
	others   dotnetgc.Allocation // of threads over the limit
}

func (a *allocations) add(list []dotnetgc.Allocation) {
	if a.byThread == nil && len(list) > 0 {
		a.byThread = make(map[uint64]*dotnetgc.Allocation)
	}
	for i := range list {
		v := &list[i]
		to := a.byThread[v.Thread]
		switch {
		case v.Thread == 0 || to == nil && len(a.byThread) >= maxAllocators:
			to = &a.others
		case to == nil:
			to = &dotnetgc.Allocation{Thread: v.Thread}
			a.byThread[v.Thread] = to
		}
		to.Samples += v.Samples
		to.SOH += v.SOH
		to.LOH += v.LOH
		to.POH += v.POH
	}
}

// summary returns what was added, nil if it was not asked for.
func (a *allocations) summary() *dotnetgc.Allocations {
	if !a.on {
		return nil
	}
	list := make([]dotnetgc.Allocation, 0, len(a.byThread))
	for _, v := range a.byThread {
		list = append(list, *v)
	}
	s := dotnetgc.SumAllocations(list)
	s.Samples += a.others.Samples
	s.Bytes += a.others.Bytes()
	s.Others = a.others.Bytes()
	named := min(maxNamedAllocators, len(list))
	for i := range list[named:] {
		s.Others += list[named+i].Bytes()
	}
	s.Threads = list[:named]
	return s
}

// allocators says in one line which threads allocated.
func allocators(s *dotnetgc.Allocations) string {
	if s.Samples == 0 {
		return "no event came"
	}
	words := []string{fmt.Sprintf("about %.1f MB by %d events", float64(s.Bytes)/1e6, s.Samples)}
	for i := range s.Threads[:min(3, len(s.Threads))] {
		t := &s.Threads[i]
		share := 100 * float64(t.Bytes()) / float64(max(1, s.Bytes))
		words = append(words, strings.TrimSpace(fmt.Sprintf("%.0f%% by thread %d %s", share, t.Thread, t.Name)))
	}
	return strings.Join(words, ", ")
}

// name looks up what the threads are called. An event has the number that a
// thread has in its own pid namespace.
func (a *allocations) name(proc dotnetipc.Proc, pid int) {
	dirs, _, err := threadDirs(proc, pid)
	if err != nil {
		return
	}
	for _, dir := range dirs {
		text, err := readThread(filepath.Join(dir, "status"))
		if err != nil {
			continue // it ended
		}
		name, inner := parseStatus(text)
		if t := a.byThread[inner]; t != nil && name != "" {
			t.Name = name
		}
	}
}

// parseStatus reads Name and the last number of NSpid of a
// proc_pid_status(5); 0 if it has none.
func parseStatus(text []byte) (name string, inner uint64) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch f := strings.Fields(value); {
		case key == "Name":
			name = strings.TrimSpace(value)
		case key == "NSpid" && len(f) > 0:
			inner, _ = strconv.ParseUint(f[len(f)-1], 10, 64) // 0 otherwise
		}
	}
	return name, inner
}

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
		p.summary.Why = "told to end"
	default:
		p.summary.Why = "the process ended"
	}
	if p.output == nil {
		return
	}
	p.host.stop()
	p.lookAtThreads(p.Clock.Now())
	p.report(p.Clock.Now(), true)
	p.sayEnd()
	if p.summary.Unexported = p.output.close(); p.summary.Unexported != nil {
		p.log.Warn("not all telemetry was exported", p.summary.Unexported.Facts()...)
	}
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
	if s.Allocations = p.allocations.summary(); s.Allocations != nil {
		facts = append(facts, "allocated_sampled", allocators(s.Allocations))
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
