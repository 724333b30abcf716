package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
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
	// Doctor, if not nil, returns the doctor's document about the process with a PID,
	// or about the machine (0), for numbers of probe. It is asked for a recording that
	// has none, as a service's has not, if the machine has not booted since.
	Doctor func(made recording.Environment, probe recording.Probe, pid int) (json.RawMessage, error)
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
	// warned; Examined says that there are answers of the doctor at all, and
	// ExaminedLater that they are of the time of the report.
	Examined, ExaminedLater bool
	Failed                  []string
	Warned                  []Warning
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
