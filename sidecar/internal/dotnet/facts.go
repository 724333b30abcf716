package dotnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/sidecar/internal/slowed"
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

	Allocations *Allocations `json:"allocations,omitempty"` // nil if nobody asked

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

func (s *Summary) cover(c *coverage) {
	s.Unseen = int64(c.unseen)
	s.Watched = max(0, int64(c.mark.Sub(c.first)-c.unseen))
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
