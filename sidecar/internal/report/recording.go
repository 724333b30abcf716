package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Options are for the report of a recording. They change nothing for a trace.
type Options struct {
	// Warmup is the beginning of a recording that is no part of the results.
	Warmup time.Duration
	// Kinds must have occurred, each of them, or the results are not reproducible.
	Kinds []gc.Kind
	// Workload describes what ran, if the recording does not.
	Workload string
	// Doctor, if not nil, returns the doctor's document about the process with a PID,
	// or about the machine (0), for numbers of probe. It is called for a recording without
	// such a document, as services make them, if the machine has not booted since.
	Doctor func(made recording.Environment, probe recording.Probe, pid int) (json.RawMessage, error)
}

// DefaultWarmup is how long a program runs before its figures are taken for
// those of its steady state.
const DefaultWarmup = 30 * time.Minute

// Experiment is what a recording holds beside stops: where, how, and with what it was
// made, and what a probe saw meanwhile. Its report holds the collections and suspensions
// after the warm-up.
type Experiment struct {
	// NotReproducible holds the reasons why the figures cannot be had again, or cannot
	// be believed; empty if all is there.
	NotReproducible []string           `json:"not_reproducible"`
	Machine         string             `json:"machine,omitempty"`
	OS              string             `json:"os,omitempty"`
	Targets         []recording.Target `json:"runtimes"`
	Workload        string             `json:"workload,omitempty"`
	Probes          []*Probe           `json:"probes"`
	BootID          string             `json:"boot_id,omitempty"`
	Warmup          time.Duration      `json:"warmup"`
	stall.Span                         // what is left of the recording behind the warm-up: the results
	// Pauses is the distribution of the pauses of each process, by kind, and
	// Summaries sums its results up, both by the process's ID.
	Pauses    map[int]map[string]Spread `json:"pauses"`
	Summaries map[int]Summary           `json:"summaries"`
	// Common are the stretches in which every CPU stood still, nil if there were none.
	// They are among the gaps of the probes.
	Common *gaps.Recorded `json:"gaps_of_all_cpus,omitempty"`
	// Examined is set if there are any answers of the doctor, and ExaminedLater if they
	// are of the time of the report, since the recording has none. Failed names the checks
	// that failed, Warned holds those that warned.
	Examined      bool      `json:"doctor_asked"`
	ExaminedLater bool      `json:"doctor_asked_later,omitempty"`
	Failed        []string  `json:"doctor_failed,omitempty"`
	Warned        []Warning `json:"doctor_warned,omitempty"`
	Unexamined    []int     `json:"doctor_not_asked_about,omitempty"` // PIDs of targets
	// Watched holds, by the ID of a target, how it was watched from outside.
	Watched map[int]*Watched `json:"watched,omitempty"`
	Hosts   []*Host          `json:"hosts,omitempty"` // of processes, targets or not

	made  recording.Environment
	ended bool // the recorder closed the file: else it was cut off, or goes on
	// unrecorded is the number of gaps and records that did not get into the
	// file; skipped that of records of a kind, or gaps of a probe, that is not
	// known here.
	unrecorded, skipped uint64
}

// Watched is how a target was watched after the warm-up, by what its watcher reported. A
// process that records itself is watched as long as it runs.
type Watched struct {
	Until  stall.Instant `json:"until"` // all before it was seen, or counts as unseen
	Unseen time.Duration `json:"unseen"`
	Lost   uint64        `json:"events_lost"` // events of the runtime that did not arrive

	status
}

// status is what a source said of itself: at the end of the warm-up, and last.
type status struct{ first, last recording.Status }

func (s *status) learn(v *recording.Status, results stall.Instant) {
	s.last = *v
	if v.Watermark <= results {
		s.first = *v
	}
}

// dropped returns what was lost in between.
func (s *status) dropped() uint64 { return s.last.Dropped - min(s.first.Dropped, s.last.Dropped) }

// Probe is a probe and what it saw behind the warm-up.
type Probe struct {
	recording.Probe
	// Inside is set if the probe runs in a process that was watched: then a pause of
	// that process stops it.
	Inside bool          `json:"inside"`
	Gaps   gaps.Recorded `json:"gaps"`

	status
}

// The limits of what is kept of a recording.
const (
	maxTargets  = 1 << 10
	maxChecks   = 1 << 8 // of one document of the doctor: it has not as many
	maxExamined = 1 << 8 // processes of which answers are kept, with the machine
)

// readRecording reads a recording.
func readRecording(r *Report, in io.Reader, o Options) error {
	r.Source.Format, r.Source.Clock = "otelgc recording 1", clockMonotonic
	file, err := recording.NewReader(in)
	switch {
	case errors.Is(err, recording.ErrVersion):
		return fmt.Errorf("%w: use the otelgc-sidecar that wrote it, or a newer one", err)
	case err != nil:
		return err
	}
	b := experimentBuilder{Report: r, Experiment: &Experiment{
		NotReproducible: []string{}, Targets: []recording.Target{}, Probes: []*Probe{}, Warmup: o.Warmup,
		Pauses: map[int]map[string]Spread{}, Summaries: map[int]Summary{}, Common: gaps.NewRecorded(0), Watched: map[int]*Watched{},
	}, answers: make(map[int]answers)}
	for {
		record, err := file.Next()
		if err != nil {
			b.skipped += file.Unknown()
			return b.end(o, err)
		}
		b.learn(record)
	}
}

// experimentBuilder makes a report of records.
type experimentBuilder struct {
	*Report
	*Experiment
	any     bool
	answers map[int]answers // of the doctor, by PID; 0 has those about the machine
	named   bool            // there are some about a process
}

func (b *experimentBuilder) learn(record recording.Record) {
	switch v := record.(type) {
	case recording.Environment:
		b.begin(v)
	case recording.Target:
		b.learnTarget(v)
	case recording.Probe:
		if v.ID > 0 && len(b.Probes) < recording.MaxProbes && b.probe(v.ID) == nil {
			b.Probes = append(b.Probes, &Probe{Probe: v, Inside: v.Target != 0, Gaps: *gaps.NewRecorded(v.Floor)})
		}
	case recording.Gaps:
		b.learnGaps(&v)
	case recording.Collection:
		b.learnCollection(&v)
	case recording.Suspension:
		b.seen(v.End)
		if v.Start >= b.Start {
			b.addSuspension(v)
		}
	case recording.Status:
		b.learnStatus(&v)
	case recording.Host:
		b.learnHost(&v)
	case recording.Doctor:
		b.learnDoctor(v.RawMessage)
	case recording.End:
		b.ended = true
		b.seen(v.At)
	}
}

// begin takes the first record. Another one would be of another recording.
func (b *experimentBuilder) begin(v recording.Environment) {
	if b.any {
		return
	}
	b.any, b.made = true, v
	b.Machine, b.OS, b.Workload, b.BootID = v.Machine, v.OS, v.Workload, v.BootID
	b.Source.Span = stall.Span{Start: v.At, End: v.At}
	b.Start = v.At.Add(b.Warmup)
	b.Source.recorded(v.Started)
	b.Source.Runtime = v.Recorder
}

// learnTarget takes a process, or what has become known of it since. A session
// with it that was opened again does not make it a new one.
func (b *experimentBuilder) learnTarget(v recording.Target) {
	if t := b.target(v.ID); t != nil {
		v.At = min(v.At, t.At)
		*t = v
	} else if len(b.Targets) < maxTargets {
		b.Targets = append(b.Targets, v)
	}
}

// target returns the process of an ID, nil if the recording does not name it.
func (x *Experiment) target(id int) *recording.Target {
	for i := range x.Targets {
		if x.Targets[i].ID == id {
			return &x.Targets[i]
		}
	}
	return nil
}

// probe returns the probe with an ID, nil if the recording does not name it.
func (x *Experiment) probe(id int) *Probe {
	for _, p := range x.Probes {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (b *experimentBuilder) seen(at stall.Instant) { b.Source.End = max(b.Source.End, at) }

func (b *experimentBuilder) learnGaps(v *recording.Gaps) {
	to := b.Common
	if v.Probe != recording.AllProbes {
		p := b.probe(v.Probe)
		if p == nil {
			b.skipped++
			return
		}
		to = &p.Gaps
	}
	for i := range v.List {
		g := &v.List[i]
		b.seen(g.End)
		if g.Start >= b.Start {
			to.Add(g)
		}
	}
}

func (b *experimentBuilder) learnCollection(v *recording.Collection) {
	end := v.End.Or(0)
	for _, p := range v.Pauses {
		end = max(end, p.End)
	}
	b.seen(end)
	if start, _, _ := pausesIn(&v.Collection); start >= b.Start {
		b.addCollection(&Collection{Collection: v.Collection, Target: v.Target})
	}
}

func (b *experimentBuilder) learnStatus(v *recording.Status) {
	b.seen(v.Watermark)
	b.unrecorded = max(b.unrecorded, v.Unrecorded)
	if p := b.probe(v.Probe); p != nil {
		p.learn(v, b.Start)
	} else if v.Target > 0 {
		w := b.Watched[v.Target]
		if w == nil {
			if len(b.Watched) == maxTargets {
				return
			}
			w = &Watched{}
			b.Watched[v.Target] = w
		}
		w.learn(v, b.Start)
	}
}

// end closes the report with what the file ended by.
func (b *experimentBuilder) end(o Options, err error) error {
	if !b.any {
		return fmt.Errorf("%w: it does not say where it was made: nothing to report", err)
	}
	if b.Workload == "" {
		b.Workload = o.Workload
	}
	b.askDoctor(o)
	b.End = max(b.Start, b.Source.End)
	b.settleGaps()
	for _, w := range b.Watched {
		w.Until, w.Unseen, w.Lost = w.last.Watermark, max(0, w.last.Unseen-w.first.Unseen), w.dropped()
	}
	for _, h := range b.Hosts {
		h.settle()
	}
	b.Hosts = slices.DeleteFunc(b.Hosts, func(h *Host) bool { return h.Over == 0 })
	b.settleDoctor()
	for _, c := range b.Collections {
		b.incomplete(&c.Collection)
	}
	b.missing(b.skipped, "record", "of a kind, or of a probe, that is not known here: a newer otelgc-sidecar may read more")
	damage := b.close(err, "the recording is cut off, by a crash or a full disk, or it goes on still")
	b.Report.Experiment = b.Experiment
	b.check(b.Report, o.Kinds)
	return damage
}

// settleGaps computes what the gaps are to be seen against.
func (b *experimentBuilder) settleGaps() {
	for _, p := range b.Probes {
		p.Gaps.Observed = max(0, p.last.Watermark.Sub(max(b.Start, p.first.Watermark, p.At))-max(0, p.last.DroppedTime-p.first.DroppedTime))
		p.Gaps.Dropped = p.dropped()
		p.Gaps.Settle(b.pausesOf(p.Target), b.Span, p.Inside)
	}
	if b.Common.Settle(nil, b.Span, false); b.Common.Total == 0 {
		b.Common = nil
	}
}

// sumUp sums up each process that was watched. Its share is of the results in which
// it was.
func (x *Experiment) sumUp(r *Report) {
	for i := range x.Targets {
		if t := &x.Targets[i]; t.Unwatched == "" {
			var s Summary
			r.only(t.ID).sumUp(&s)
			s.PauseShare = share(s.Pause, x.watchedFor(t))
			x.Pauses[t.ID], x.Summaries[t.ID] = s.Pauses, s
		}
	}
}

// only returns the part of the recording about one target.
func (r *Report) only(target int) *Report {
	one := &Report{Source: r.Source}
	if t := r.Experiment.target(target); t != nil {
		one.Source.PID, one.Source.dotnet = t.PID, t.Runtime == "dotnet"
	}
	if s, ok := r.Experiment.Summaries[target]; ok {
		one.Summary = &s
	}
	for _, c := range r.Collections {
		if c.Target == target {
			one.Collections = append(one.Collections, c)
		}
	}
	for _, s := range r.Suspensions {
		if s.Target == target {
			one.Suspensions = append(one.Suspensions, s)
		}
	}
	return one
}

// fromOutside reports whether the sidecar watched a process, and so reported how far. A Go
// program records itself: no watcher can lose sight of it.
func fromOutside(t *recording.Target) bool { return t.Runtime == "dotnet" && t.Unwatched == "" }

// watchedFor returns for how much of the results a process was watched.
func (x *Experiment) watchedFor(t *recording.Target) time.Duration {
	from, until, unseen := max(t.At, x.Start), x.End, time.Duration(0)
	if w := x.Watched[t.ID]; w != nil {
		until, unseen = min(w.Until, until), w.Unseen
	} else if fromOutside(t) {
		return 0
	}
	return max(0, until.Sub(from)-unseen)
}
