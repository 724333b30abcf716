package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

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
			b.addSuspension(Suspension{Span: stall.Span{Start: v.Start, End: v.End}, EndMax: v.EndMax, Reason: v.Reason, Caller: v.Caller, Target: v.Target})
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
	b.askDoctor(o)
	b.settleDoctor()
	for _, c := range b.Collections {
		if c.Incomplete != "" {
			b.addHole(Hole{c.Start.Or(0), c.End.Or(0), fmt.Sprintf("GC %d: %s", c.Index, c.Incomplete)})
		}
	}
	if b.Skipped > 0 {
		b.addHole(Hole{Why: textfmt.Many(b.Skipped, "record") + " of a kind, or of a probe, that is not known here: a newer otelgc-sidecar may read more"})
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
