package gaps

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Schema names the JSON document of a probe.
const Schema = "otelgc.probe/1"

// Report is a probe that has ended, and the gaps that were kept of it.
type Report struct {
	jitterprobe.Summary
	Threshold time.Duration
	Kept      []jitterprobe.Gap
	Left      uint64 // gaps shorter than those that are kept
	// Limits are the causes that the probe could not decide.
	Limits []jitterprobe.Limit
}

// NewReport returns the report of a probe that has ended.
func NewReport(s jitterprobe.Summary, l *Log, threshold time.Duration) *Report {
	kept, left := l.Gaps()
	return &Report{Summary: s, Threshold: threshold, Kept: kept, Left: left}
}

// Document is the JSON document of a probe. Times are nanoseconds of
// CLOCK_MONOTONIC.
type Document struct {
	Schema      string        `json:"schema"`
	Mode        string        `json:"mode"`
	Note        string        `json:"note,omitempty"`
	CPU         *int          `json:"cpu,omitempty"` // absent if the probe was not pinned
	Clock       string        `json:"clock"`
	BootID      string        `json:"boot_id,omitempty"`
	LoopNS      *float64      `json:"loop_ns,omitempty"` // absent in mode periodic
	Balance     *float64      `json:"balance,omitempty"`
	Threshold   time.Duration `json:"threshold"`
	Start       stall.Instant `json:"start"`
	Duration    time.Duration `json:"duration"`
	Covered     float64       `json:"covered"`
	Dropped     uint64        `json:"dropped"`
	DroppedTime time.Duration `json:"dropped_time,omitempty"`
	GapTime     time.Duration `json:"gap_time"`
	Max         time.Duration `json:"max"`
	Total       uint64        `json:"total"` // gaps
	Gaps        []Gap         `json:"gaps"`  // the longest, in order of time
	GapsLeft    uint64        `json:"gaps_left_out,omitempty"`
	// Counts are the gaps of at least so long; in mode periodic the wake-ups that
	// were at least so late, of which a long gap swallows several. Null is below the
	// threshold: nobody looked.
	Counts map[string]*uint64 `json:"counts"`
	Causes map[string]Cause   `json:"causes,omitempty"`
	Limits []string           `json:"limits,omitempty"` // causes that cannot be decided, and why
}

// Gap is one gap.
type Gap struct {
	Start stall.Instant `json:"start"`
	End   stall.Instant `json:"end"`
	Cause string        `json:"cause"`
	Scope string        `json:"scope"`
	CPU   *int32        `json:"cpu,omitempty"` // absent if it is not of one CPU
	// Evidence is what decided the cause; absent if nothing did.
	Evidence string `json:"evidence,omitempty"`
}

// Cause is how many gaps had one cause, and their sum.
type Cause struct {
	Gaps uint64        `json:"gaps"`
	Time time.Duration `json:"time"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	d := Document{
		Schema: Schema, Mode: r.Mode.String(), Note: r.Note, Clock: clockName,
		Threshold: r.Threshold, Start: r.Start, Duration: r.Observed(), Covered: r.Covered(),
		Dropped: r.Dropped, DroppedTime: r.DroppedTime, GapTime: r.GapTime,
		Max: max(r.Longest.Duration(), r.DroppedMax), Total: r.Gaps, GapsLeft: r.Left,
		Gaps: make([]Gap, 0, len(r.Kept)), Counts: map[string]*uint64{}, Causes: map[string]Cause{},
	}
	if id, err := stall.BootID(); err == nil {
		d.BootID = id
	}
	if r.CPU >= 0 {
		d.CPU = &r.CPU
	}
	if r.Loop > 0 {
		d.LoopNS, d.Balance = &r.Loop, &r.Balance
	}
	for i := range r.Kept {
		d.Gaps = append(d.Gaps, gapOf(&r.Kept[i]))
	}
	for _, c := range r.Counts {
		d.Counts[bound(c.AtLeast)] = nil
	}
	for _, c := range r.counts() {
		d.Counts[bound(c.AtLeast)] = &c.N
	}
	for c, t := range r.Causes {
		if t.N > 0 {
			d.Causes[stall.Cause(c).String()] = Cause{t.N, t.Time}
		}
	}
	for _, l := range r.Limits {
		d.Limits = append(d.Limits, l.String())
	}
	return d
}

func gapOf(g *jitterprobe.Gap) Gap {
	doc := Gap{Start: g.Start, End: g.End, Cause: g.Cause.String(), Scope: g.Scope.String(), Evidence: g.Evidence.String()}
	if g.CPU >= 0 {
		doc.CPU = &g.CPU
	}
	return doc
}

const clockName = "CLOCK_MONOTONIC"

// bound writes a threshold as the document names it, such as "10us".
func bound(d time.Duration) string {
	text := d.String()
	if d < time.Millisecond && d >= time.Microsecond {
		return text[:len(text)-len("µs")] + "us"
	}
	return text
}
