// Package gaps says what a probe has seen: of a run the number of all gaps, and the
// longest one by one, as a table and as JSON; of a recording also how many of the gaps
// are pauses. The probe has classified them.
package gaps

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// maxKept bounds the gaps that a Log keeps: the longest.
const maxKept = 10_000

// Log keeps the longest gaps of a run. It is for one goroutine at a time; the
// zero value is ready.
type Log struct {
	kept  []jitterprobe.Gap
	lost  uint64
	least time.Duration // gaps up to it are lost: maxKept are longer
}

// Add keeps g, or counts it if there are maxKept that are longer.
func (l *Log) Add(g jitterprobe.Gap) {
	if g.Duration() <= l.least {
		l.lost++
		return
	}
	l.kept = append(l.kept, g)
	if len(l.kept) == 2*maxKept {
		l.trim()
	}
}

func (l *Log) trim() {
	if len(l.kept) <= maxKept {
		return
	}
	slices.SortFunc(l.kept, func(a, b jitterprobe.Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
	l.lost += uint64(len(l.kept) - maxKept)
	l.kept = l.kept[:maxKept]
	l.least = l.kept[maxKept-1].Duration()
}

// Gaps returns what is kept, in order of time, and how many shorter ones are
// not.
func (l *Log) Gaps() (list []jitterprobe.Gap, left uint64) {
	l.trim()
	slices.SortFunc(l.kept, func(a, b jitterprobe.Gap) int { return cmp.Compare(a.Start, b.Start) })
	return l.kept, l.lost
}

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

// Schema names the JSON document of a probe.
const Schema = "otelgc.probe/1"

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
	// threshold: such gaps are not looked for.
	Counts map[string]*uint64    `json:"counts"`
	Causes map[stall.Cause]Cause `json:"causes,omitempty"`
	Limits []string              `json:"limits,omitempty"` // causes that cannot be decided, and why
}

// Gap is one gap.
type Gap struct {
	stall.Span
	Cause stall.Cause `json:"cause"`
	Scope stall.Scope `json:"scope"`
	CPU   *int32      `json:"cpu,omitempty"` // absent if it is not of one CPU
	// Evidence is what decided the cause; absent if nothing did.
	Evidence string `json:"evidence,omitempty"`
}

// Cause is how many gaps had one cause, and their sum.
type Cause struct {
	Gaps uint64        `json:"gaps"`
	Time time.Duration `json:"time"`
}

const clockName = "CLOCK_MONOTONIC"

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	d := Document{
		Schema: Schema, Mode: r.Mode.String(), Note: r.Note, Clock: clockName,
		Threshold: r.Threshold, Start: r.Start, Duration: r.Observed(), Covered: r.Covered(),
		Dropped: r.Dropped, DroppedTime: r.DroppedTime, GapTime: r.GapTime,
		Max: max(r.Longest.Duration(), r.DroppedMax), Total: r.Gaps, GapsLeft: r.Left,
		Gaps: make([]Gap, 0, len(r.Kept)), Counts: map[string]*uint64{}, Causes: map[stall.Cause]Cause{},
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
		g := &r.Kept[i]
		doc := Gap{Span: stall.Span{Start: g.Start, End: g.End}, Cause: g.Cause, Scope: g.Scope, Evidence: g.Evidence.String()}
		if g.CPU >= 0 {
			doc.CPU = &g.CPU
		}
		d.Gaps = append(d.Gaps, doc)
	}
	for _, c := range r.Counts {
		d.Counts[bound(c.AtLeast)] = nil
		if c.AtLeast >= r.Threshold {
			d.Counts[bound(c.AtLeast)] = &c.N
		}
	}
	for c, t := range r.Causes {
		if t.N > 0 {
			d.Causes[stall.Cause(c)] = Cause{t.N, t.Time}
		}
	}
	for _, l := range r.Limits {
		d.Limits = append(d.Limits, l.String())
	}
	return d
}

// bound writes a threshold as the document names it, such as "10us".
func bound(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

// Print writes the report as text, at most as wide as the terminal or 100 columns.
func (r *Report) Print(to io.Writer) error {
	w := textfmt.NewText(to, 0)
	w.Names = 11
	w.Title("GAPS OF THIS MACHINE, %s", r.Observed())
	r.printHead(w)
	w.Blank()
	r.printCounts(w)
	r.printCauses(w)
	if t := textfmt.Histogram(r.counted(), r.Histogram[:]); t != nil {
		w.Blank()
		w.Table(t)
	}
	return w.Close()
}

func (r *Report) printHead(w *textfmt.Page) {
	where := "not pinned"
	if r.CPU >= 0 {
		where = fmt.Sprintf("CPU %d", r.CPU)
	}
	w.Item("mode", "%s, %s, threshold %s, clock %s", r.Mode, where, bound(r.Threshold), clockName)
	if r.Note != "" {
		w.Item("", "%s", r.Note)
	}
	if r.Loop > 0 {
		w.Item("loop", "%.2f ns; looks and gaps make up %.2f %% of the time", r.Loop, 100*r.Balance)
	}
	w.Item("covered", "%.3f %%; %s dropped (%s)", 100*r.Covered(), textfmt.Many(r.Dropped, "gap"), r.DroppedTime)
	w.Item("lost", "%s in %s, %.3f %% of the time", r.GapTime, textfmt.Many(r.Gaps, "gap"), 100*textfmt.Ratio(r.GapTime, r.Observed()))
	if r.Gaps > 0 {
		w.Item("longest", "%s, %.3f s after the start, %s", r.Longest.Duration(), r.Longest.Start.Sub(r.Start).Seconds(), r.Longest.Cause)
		if e := r.Longest.Evidence.String(); e != "" {
			w.Item("", "%s", e)
		}
	}
	if r.Backward > 0 {
		w.Item("backward", "%s lost, in which the counter ran backward", textfmt.Many(r.Backward, "gap"))
	}
}

// counted is what the counts and the histogram are of: a probe that wakes up
// counts each wake-up that a gap swallowed. Otherwise readers would take one long
// gap for one late wake-up.
func (r *Report) counted() string {
	if r.Mode == jitterprobe.Periodic {
		return "late"
	}
	return "gaps"
}

// printCounts leaves out what lies below the threshold: shorter gaps were not looked
// for, so that those numbers would be of longer ones alone.
func (r *Report) printCounts(w *textfmt.Page) {
	var t textfmt.Table
	t.Row("at least", r.counted(), "per second")
	for _, c := range r.Counts {
		if c.AtLeast >= r.Threshold {
			t.Row(bound(c.AtLeast), c.N, fmt.Sprintf("%.2f", float64(c.N)/max(r.Observed().Seconds(), 1e-9)))
		}
	}
	w.Table(&t)
	if r.Mode == jitterprobe.Periodic {
		w.Blank()
		w.Say("Late wake-ups are counted here and in the histogram: a gap counts once for each wake-up that it swallowed, with the lateness of that one.")
	}
}

// printCauses writes the causes by the time they took, the greatest first.
func (r *Report) printCauses(w *textfmt.Page) {
	var causes []stall.Cause
	for c, t := range r.Causes {
		if t.N > 0 {
			causes = append(causes, stall.Cause(c))
		}
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int { return cmp.Compare(r.Causes[b].Time, r.Causes[a].Time) })
	var t textfmt.Table
	t.Row("cause", "gaps", "time", "share")
	for _, c := range causes {
		t.Row(c, r.Causes[c].N, r.Causes[c].Time, textfmt.Ratio(r.Causes[c].Time, r.GapTime))
	}
	if len(causes) > 0 {
		w.Blank()
		w.Table(&t)
	}
	for _, l := range r.Limits {
		w.Blank()
		w.Say("%s", l)
	}
}
