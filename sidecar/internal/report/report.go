// Package report reads the stop-the-worlds of a file: a Go execution trace, a .NET
// nettrace file, a recording and a captured request become one [Report]. It is a JSON document, and is
// printed as text, as a page for a browser, as CSV, or beside the figures that PerfView
// shows.
//
// What a file does not hold is absent, never zero. A file that ends too soon is
// reported as far as it was whole, and Incomplete names the rest. A quantile
// that too few samples lie beyond is left out.
package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/capturefile"
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Schema names the JSON document of a report.
const Schema = "otelgc.report/1"

// Limits of what is kept of one file. What is over them is counted, and named
// in Incomplete.
const (
	MaxCollections = 1 << 17
	MaxSuspensions = 1 << 20
	MaxPauses      = 1 << 20 // of all collections
	MaxIncomplete  = 1 << 12
)

// Report is what one file holds. Times are nanoseconds of the clock that Source
// names, sizes bytes; what is not known is absent.
type Report struct {
	Schema      string                 `json:"schema"`
	Source      Source                 `json:"source"`
	Collections []*Collection          `json:"collections"`
	Suspensions []recording.Suspension `json:"suspensions"` // stops that were not for garbage collection, by Start
	Incomplete  []Hole                 `json:"incomplete"`
	Summary     *Summary               `json:"summary,omitempty"`    // of a recording there is one for each process: Experiment.Summaries
	Experiment  *Experiment            `json:"experiment,omitempty"` // of a recording
	Request     *capturefile.Request   `json:"request,omitempty"`    // of a captured one
	Gaps        []capturefile.Gap      `json:"gaps,omitempty"`       // of the machine, of a captured request

	captured *capturefile.Document
	slowest  []request       // of those that package otelgc marked, in a Go trace; the fastest first
	assists  []gotrace.Range // of goroutines, in the order of these and of time
	left     left
	endsAt   int64 // where the stream ends, 0 if that is not in it
}

// Source describes the file.
type Source struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`   // of the file that were read
	Format  string `json:"format"`  // with its version, such as "go 1.26 trace"
	Runtime string `json:"runtime"` // as far as the file names it, such as "go1.26"
	Clock   string `json:"clock"`   // what the instants are of: clockMonotonic or clockFile
	// Tick is the frequency of the file's clock in Hz: instants are whole
	// nanoseconds, ticks x 1e9 / Tick, rounded down.
	Tick        uint64    `json:"clock_hz,omitempty"`
	stall.Span            // from the first event to the last, by the file's clock
	Recorded    time.Time `json:"recorded,omitzero"` // wall clock at the file's beginning, as the machine had it
	PID         int       `json:"pid,omitempty"`
	CPUs        int       `json:"cpus,omitempty"`
	PointerSize int       `json:"pointer_size,omitempty"`
	Command     string    `json:"command,omitempty"`
	OS          string    `json:"os,omitempty"`
	Arch        string    `json:"arch,omitempty"`

	dotnet  bool
	ifLinux bool // the clock is CLOCK_MONOTONIC if the system was Linux, which the file does not say
}

// recorded takes a wall clock, unless JSON has no form for it.
func (s *Source) recorded(t time.Time) {
	if t = t.UTC(); t.Year() >= 0 && t.Year() <= 9999 {
		s.Recorded = t
	}
}

// The clocks that a file's instants can be of.
const (
	clockMonotonic = "CLOCK_MONOTONIC"
	clockFile      = "file" // the file's own, of which nothing more is known
)

// Collection is one garbage collection of a file.
type Collection struct {
	gc.Collection
	SlowedWords string `json:"slowed,omitempty"` // SlowedBy in words
	// TimeInGC is the runtime's own "% time in GC", 0 to 1: of the time since the
	// collection before. It leaves out the suspend of the pauses, and counts what
	// paging and lost CPU took in them.
	TimeInGC gc.Maybe[float64] `json:"time_in_gc,omitzero"`
	Target   int               `json:"target,omitempty"` // id of the process, in a recording

	number    int                     // in the file, from 1
	perfView  gc.Maybe[time.Duration] // the pause by TraceEvent's own rule (.NET)
	announced string                  // what the runtime said that it would be, which it need not have been (.NET)
}

// Hole is what is missing, and why.
type Hole struct {
	Start stall.Instant `json:"start,omitempty"`
	End   stall.Instant `json:"end,omitempty"`
	Why   string        `json:"why"`
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

// left counts what was over a limit.
type left struct{ collections, suspensions, pauses, incomplete uint64 }

// keep appends v to a list of at most so many, or counts it.
func keep[T any](list *[]T, most int, left *uint64, v T) {
	if len(*list) == most {
		*left++
		return
	}
	*list = append(*list, v)
}

func (r *Report) addCollection(c *Collection) {
	if c.Pauses == nil {
		c.Pauses = []gc.Pause{} // a list in JSON
	}
	for i := range c.Pauses {
		c.Pauses[i].EndMax = max(c.Pauses[i].End, c.Pauses[i].EndMax)
	}
	c.SlowedWords, c.number = c.Slowed(), len(r.Collections)+1
	keep(&r.Collections, MaxCollections, &r.left.collections, c)
}

func (r *Report) addSuspension(s recording.Suspension) {
	keep(&r.Suspensions, MaxSuspensions, &r.left.suspensions, s)
}

func (r *Report) addHole(h Hole) { keep(&r.Incomplete, MaxIncomplete, &r.left.incomplete, h) }

// missing names records that cannot be used, if there are any.
func (r *Report) missing(n uint64, noun, why string) {
	if n > 0 {
		r.addHole(Hole{Why: textfmt.Many(n, noun) + " " + why})
	}
}

// incomplete names the part of a collection that is missing, if one is.
func (r *Report) incomplete(c *gc.Collection) {
	if c.Incomplete != "" {
		r.addHole(Hole{c.Start.Or(0), c.End.Or(0), fmt.Sprintf("GC %d: %s", c.Index, c.Incomplete)})
	}
}

// close notes what the stream ended by, io.EOF if in good order, and returns the
// damage. Cut is the reason why a file ends too soon.
func (r *Report) close(err error, cut string) error {
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.addHole(Hole{Start: r.Source.End, Why: err.Error() + ": " + cut})
		return nil
	}
	r.addHole(Hole{Start: r.Source.End, Why: err.Error()})
	return &Damaged{fmt.Errorf("%w: what was whole before it is reported", err)}
}

// settle completes the document.
func (r *Report) settle() {
	r.timeInGC()
	if r.Summary != nil {
		r.sumUp(r.Summary)
	}
	if r.Experiment != nil {
		r.Experiment.sumUp(r)
	}
	left := r.left // past the limit, if need be
	for i, n := range []uint64{left.collections, left.suspensions, left.pauses, left.incomplete} {
		if n > 0 {
			noun := []string{"collection", "suspension", "pause", "hole"}[i]
			r.Incomplete = append(r.Incomplete, Hole{Why: textfmt.Many(n, noun) + " more than a report holds"})
		}
	}
}
