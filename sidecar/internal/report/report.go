package report

import (
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Limits of what is kept of one file. What is over them is counted, and named
// in Incomplete.
const (
	MaxCollections = 1 << 17
	MaxSuspensions = 1 << 20
	MaxPauses      = 1 << 20 // of all collections
	MaxIncomplete  = 1 << 12
)

// Report is what one file says.
type Report struct {
	Source      Source
	stall.Span  // from the first event to the last, by the file's clock
	Collections []Collection
	Suspensions []Suspension // stops that were not for garbage collection, by Start
	Incomplete  []Hole
	Work        Work
	// Requests are those that package otelgc marked in a Go trace, by latency.
	Requests []Latency
	// Allocations is who allocated, where the file samples that (.NET).
	Allocations []dotnetgc.Allocation
	// Left counts what a limit of this package kept out.
	Left Left

	// Experiment is what a recording holds besides, nil for any other file.
	Experiment *Experiment

	ended int64 // where the stream says that it ends, 0 if it does not say
}

// Source says what the file is. What it does not hold is zero.
type Source struct {
	File    string
	Bytes   int64  // of the file that were read
	Format  string // with its version, such as "go 1.26 trace"
	Runtime string // as far as the file names it, such as "go1.26"
	Clock   string // what the instants are of, such as CLOCK_MONOTONIC
	// Tick is the frequency of the file's clock in Hz: instants are whole
	// nanoseconds, ticks x 1e9 / Tick, rounded down.
	Tick        uint64
	Recorded    time.Time // wall clock at the file's beginning, as the machine had it
	PID         int
	CPUs        int
	PointerSize int
	Command     string
	OS          string
	Arch        string
	dotnet      bool
}

// Suspension is one stop-the-world that was not for garbage collection.
type Suspension struct {
	stall.Span
	EndMax stall.Instant // upper bound of End, 0 if none is known
	Reason string
	Caller string // who stopped the world; empty if not known
	Target int    // names the process, in a recording
}

// Hole is what is missing, and why.
type Hole struct {
	Start, End stall.Instant // zero if not known
	Why        string
}

// Work is what goroutines did for the collector, which no pause shows (Go).
type Work struct {
	Assist, Sweep Effort
}

// Effort is a number of stretches of time, on any goroutine.
type Effort struct {
	Count   uint64        `json:"count"`
	Time    time.Duration `json:"time"`
	Longest time.Duration `json:"longest"`
}

func (e *Effort) add(d time.Duration, whole bool) {
	e.Time += d
	e.Longest = max(e.Longest, d)
	if whole {
		e.Count++
	}
}

// Left counts what was over a limit.
type Left struct {
	Collections, Suspensions, Pauses, Incomplete uint64
}

func (r *Report) addCollection(c Collection) {
	if len(r.Collections) == MaxCollections {
		r.Left.Collections++
		return
	}
	r.Collections = append(r.Collections, c)
}

func (r *Report) addSuspension(s Suspension) {
	if len(r.Suspensions) == MaxSuspensions {
		r.Left.Suspensions++
		return
	}
	r.Suspensions = append(r.Suspensions, s)
}

func (r *Report) addHole(h Hole) {
	if len(r.Incomplete) == MaxIncomplete {
		r.Left.Incomplete++
		return
	}
	r.Incomplete = append(r.Incomplete, h)
}

// sayLeft turns what was left out into holes, past the limit if need be.
func (r *Report) sayLeft() {
	for _, l := range []struct {
		n    uint64
		what string
	}{
		{r.Left.Collections, "collection"},
		{r.Left.Suspensions, "suspension"},
		{r.Left.Pauses, "pause"},
		{r.Left.Incomplete, "hole"},
	} {
		if l.n > 0 {
			r.Incomplete = append(r.Incomplete, Hole{Why: textfmt.Many(l.n, l.what) + " more than a report holds"})
		}
	}
}
