package report

import (
	"time"

	"github.com/otelgc/otelgc/internal/gcjson"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Schema names the JSON document of a report.
const Schema = "otelgc.report/1"

// Document is the JSON document of a report. Times are nanoseconds of the clock
// that Source names, sizes bytes; what is not known is absent.
type Document struct {
	Schema      string          `json:"schema"`
	Source      DocSource       `json:"source"`
	Collections []DocCollection `json:"collections"`
	Suspensions []DocSuspension `json:"suspensions"`
	Incomplete  []DocHole       `json:"incomplete"`
	Summary     *Summary        `json:"summary,omitempty"`     // of a recording there is one for each process: Experiment.Summaries
	Allocations *DocAllocations `json:"allocations,omitempty"` // of a verbose .NET file
	Experiment  *DocExperiment  `json:"experiment,omitempty"`  // of a recording
}

// DocSource says what the file is.
type DocSource struct {
	File        string        `json:"file"`
	Bytes       int64         `json:"bytes"`
	Format      string        `json:"format"`
	Runtime     string        `json:"runtime"`
	Clock       string        `json:"clock"` // CLOCK_MONOTONIC, or file: the file's own
	Tick        uint64        `json:"clock_hz,omitempty"`
	Start       stall.Instant `json:"start"`
	End         stall.Instant `json:"end"`
	Recorded    string        `json:"recorded,omitempty"` // RFC 3339
	PID         int           `json:"pid,omitempty"`
	CPUs        int           `json:"cpus,omitempty"`
	PointerSize int           `json:"pointer_size,omitempty"`
	Command     string        `json:"command,omitempty"`
	OS          string        `json:"os,omitempty"`
	Arch        string        `json:"arch,omitempty"`
}

// DocCollection is one collection.
type DocCollection struct {
	gcjson.Collection
	// TimeInGC is the runtime's own "% time in GC", 0 to 1: of the time since the
	// collection before. It leaves out the suspend of the pauses, and counts what
	// paging and lost CPU took in them.
	TimeInGC gc.Maybe[float64] `json:"time_in_gc,omitzero"`
	Target   int               `json:"target,omitempty"` // id of the process, in a recording
}

// DocSuspension is one stop-the-world that was not for a collection.
type DocSuspension struct {
	Start  stall.Instant `json:"start"`
	End    stall.Instant `json:"end"`
	EndMax stall.Instant `json:"end_max,omitempty"` // upper bound of the end
	Reason string        `json:"reason"`
	Caller string        `json:"caller,omitempty"`
	Target int           `json:"target,omitempty"` // in a recording
}

// DocHole is what is missing, and why.
type DocHole struct {
	Start stall.Instant `json:"start,omitempty"`
	End   stall.Instant `json:"end,omitempty"`
	Why   string        `json:"why"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	s := &r.Source
	d := Document{
		Schema: Schema,
		Source: DocSource{
			File: s.File, Bytes: s.Bytes, Format: s.Format, Runtime: s.Runtime, Clock: s.Clock, Tick: s.Tick,
			Start: r.Start, End: r.End, PID: s.PID, CPUs: s.CPUs, PointerSize: s.PointerSize,
			Command: s.Command, OS: s.OS, Arch: s.Arch,
		},
		Collections: make([]DocCollection, 0, len(r.Collections)),
		Suspensions: make([]DocSuspension, 0, len(r.Suspensions)),
		Incomplete:  make([]DocHole, 0, len(r.Incomplete)),
	}
	d.Allocations = r.allocations()
	if r.Experiment != nil {
		d.Experiment = r.docExperiment()
	} else {
		s := r.summary()
		d.Summary = &s
	}
	if !s.Recorded.IsZero() {
		d.Source.Recorded = s.Recorded.UTC().Format(time.RFC3339Nano)
	}
	for i := range r.Collections {
		d.Collections = append(d.Collections, DocCollection{Collection: gcjson.New(&r.Collections[i].Collection), Target: r.Collections[i].Target})
	}
	for _, share := range r.TimeInGC() {
		d.Collections[share.Number-1].TimeInGC = gc.Known(share.Share)
	}
	for _, v := range r.Suspensions {
		d.Suspensions = append(d.Suspensions, DocSuspension{v.Start, v.End, v.EndMax, v.Reason, v.Caller, v.Target})
	}
	for _, h := range r.Incomplete {
		d.Incomplete = append(d.Incomplete, DocHole(h))
	}
	return d
}
