package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Options say how to report on a recording. They change nothing for a trace.
type Options struct {
	// Warmup is the beginning of a recording that is no part of the results.
	Warmup time.Duration
	// Kinds are those of which results are claimed: each must have occurred.
	Kinds []gc.Kind
	// Workload says what ran, if the recording does not.
	Workload string
}

// DefaultWarmup is how long a program runs before its figures are taken for
// those of its steady state.
const DefaultWarmup = 30 * time.Minute

// Experiment is what a recording holds beside stops: where, how, and with what
// it was made, and what a probe saw meanwhile.
type Experiment struct {
	recording.Environment
	Targets []recording.Target
	Probes  []*Probed
	// Watched says of targets, by ID, how they were watched.
	Watched map[int]*Watched
	// Hosts is what the machine did to processes, targets or not.
	Hosts  []*Hosted
	Warmup time.Duration
	// Results is what is left of the recording behind the warm-up.
	Results stall.Span
	// Common are the stretches in which every CPU stood still. They are among the
	// gaps of the probes.
	Common GapCounts
	// Failed names the doctor's checks that failed, Warned holds those that
	// warned; Examined says that there are answers of the doctor at all.
	Examined bool
	Failed   []string
	Warned   []Warning
	// Unexamined are the PIDs of targets that the doctor was not asked about.
	Unexamined []int
	// Ended says that the recorder closed the file: else it was cut off, or goes on.
	Ended bool
	// Unrecorded is the number of gaps and records that did not get into the
	// file; Skipped that of records of a kind, or gaps of a probe, that is not
	// known here.
	Unrecorded, Skipped uint64
	// NotReproducible says why nobody can get the same figures again, or they
	// cannot be believed; empty if all is there.
	NotReproducible []string
}

// The limits of what is kept of a recording.
const (
	maxTargets = 1 << 10
	maxLong    = 1 << 20 // gaps of longGapFrom or more
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
	b := experimentBuilder{Report: r, Experiment: &Experiment{Warmup: o.Warmup}, answers: make(map[int]answers)}
	for {
		record, err := file.Next()
		if err != nil {
			b.Skipped += file.Unknown()
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
		b.learnProbe(v)
	case recording.Gaps:
		b.gaps(&v)
	case recording.Collection:
		b.collection(&v)
	case recording.Suspension:
		b.seen(v.End)
		if v.Start >= b.Results.Start {
			b.addSuspension(Suspension{Span: stall.Span{Start: v.Start, End: v.End}, Reason: v.Reason, Caller: v.Caller, Target: v.Target})
		}
	case recording.Status:
		b.learnStatus(&v)
	case recording.Host:
		b.learnHost(&v)
	case recording.Doctor:
		b.learnDoctor(v.RawMessage)
	case recording.End:
		b.Ended = true
		b.seen(v.At)
	}
}

// begin takes the first record. Another one would be of another recording.
func (b *experimentBuilder) begin(v recording.Environment) {
	if b.any {
		return
	}
	b.any, b.Environment = true, v
	b.Start, b.End = v.At, v.At
	b.Results.Start = v.At.Add(b.Warmup)
	b.Source.Recorded = v.Started
	b.Source.Runtime = v.Recorder
}

// learnTarget takes a process, or what has become known of it since. A session
// with it that was opened again does not make it a new one.
func (b *experimentBuilder) learnTarget(v recording.Target) {
	for i := range b.Targets {
		if b.Targets[i].ID == v.ID {
			v.At = min(v.At, b.Targets[i].At)
			b.Targets[i] = v
			return
		}
	}
	if len(b.Targets) < maxTargets {
		b.Targets = append(b.Targets, v)
	}
}

func (b *experimentBuilder) seen(at stall.Instant) { b.End = max(b.End, at) }

func (b *experimentBuilder) collection(v *recording.Collection) {
	end := v.GC.End.Or(0)
	for _, p := range v.GC.Pauses {
		end = max(end, p.End)
	}
	b.seen(end)
	start, _, _ := pausesOf(&v.GC)
	if start >= b.Results.Start {
		b.addCollection(Collection{Collection: v.GC, Target: v.Target})
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
	b.Results.End = max(b.Results.Start, b.End)
	b.settleGaps()
	b.settleWatched()
	b.settleHosts()
	b.settleDoctor()
	for _, c := range b.Collections {
		if c.Incomplete != "" {
			b.addHole(Hole{c.Start.Or(0), c.End.Or(0), fmt.Sprintf("GC %d: %s", c.Index, c.Incomplete)})
		}
	}
	if b.Skipped > 0 {
		b.addHole(Hole{Why: page.Many(b.Skipped, "record") + " of a kind, or of a probe, that is not known here: a newer otelgc-sidecar may read more"})
	}
	var damage error
	switch {
	case err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF):
		b.addHole(Hole{b.End, 0, err.Error() + ": the recording is cut off, by a crash or a full disk, or it goes on still"})
	default:
		b.addHole(Hole{b.End, 0, err.Error()})
		damage = &Damaged{fmt.Errorf("%w: what was whole before it is reported", err)}
	}
	b.Report.Experiment = b.Experiment
	b.judge(b.Report, o.Kinds)
	return damage
}
