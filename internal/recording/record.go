package recording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Kind is the kind of a record. The numbers are part of the format.
type Kind uint8

// The kinds. 3 was gaps without evidence, before the first release.
const (
	KindEnvironment Kind = 1
	KindTarget      Kind = 2
	KindCollection  Kind = 4
	KindSuspension  Kind = 5
	KindStatus      Kind = 6
	KindDoctor      Kind = 7
	KindEnd         Kind = 8
	KindProbe       Kind = 9
	KindGaps        Kind = 10
	KindHost        Kind = 11
)

// Record is one of the types below.
type Record interface{ kind() Kind }

// Environment says where and how it was recorded. It is the first record. What
// could not be read is empty.
type Environment struct {
	Recorder string        `json:"recorder"` // the program that recorded, and its version
	BootID   string        `json:"boot_id,omitempty"`
	Started  time.Time     `json:"started"` // wall clock
	At       stall.Instant `json:"at"`      // the same moment, about
	Machine  string        `json:"machine,omitempty"`
	OS       string        `json:"os,omitempty"`
	Workload string        `json:"workload,omitempty"` // as the user names it
}

// Probe is a probe whose gaps are recorded. ID, from 1, names it in other
// records.
type Probe struct {
	ID     int           `json:"id"`
	Mode   string        `json:"mode"`
	CPU    int           `json:"cpu"`              // -1 if it is not pinned
	Floor  time.Duration `json:"threshold"`        // the shortest gap that counts
	Target int           `json:"target,omitempty"` // process that it runs in; 0: in none of the targets
	Note   string        `json:"note,omitempty"`   // why it does not run as it was asked to
	At     stall.Instant `json:"at,omitempty"`     // it ran from here on; 0: from before the recording
}

// MaxProbes bounds the ID of a probe: one on each CPU, and some inside.
const MaxProbes = 1 << 12

// AllProbes stands for the ID of a probe in the gaps of the machine: what the
// gaps of all CPUs have in common. They are among those of the probes as well.
const AllProbes = 0

// Target is a process that was watched. ID names it in other records.
type Target struct {
	ID      int    `json:"id"`
	PID     int    `json:"pid"`
	Name    string `json:"name,omitempty"`
	Runtime string `json:"runtime"` // go, dotnet or unknown
	// Facts are the runtime line, by name; see RuntimeFacts.
	Facts map[string]string `json:"facts"`
	At    stall.Instant     `json:"at"` // watched from here on
	// Unwatched says why its collections and stops were not watched. Empty: they
	// were.
	Unwatched string `json:"unwatched,omitempty"`
}

// UnknownRuntime is the Runtime of a process whose runtime was not recognized.
const UnknownRuntime = "unknown"

// FactBuild is a fact that may be there beside RuntimeFacts: what a Go program was
// built for, and of which module and revision.
const FactBuild = "build"

// RuntimeFacts are the facts without which a run of a runtime cannot be done
// again, in the order in which they are said.
var RuntimeFacts = map[string][]string{
	"go": {"version", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOEXPERIMENT"},
	"dotnet": {
		"version", "flavor", "concurrent", "heap count", "affinity", "heap layout", "DATAS", "latency mode",
		"tiering", "ReadyToRun",
	},
}

// Gaps are gaps of one probe, in the order in which it reported them. The file keeps
// Start, End, Cause, Scope, CPU and Evidence of each.
type Gaps struct {
	Probe int // its ID, or AllProbes
	List  []jitterprobe.Gap
}

// Collection is one garbage collection of a target.
type Collection struct {
	Target int `json:"target"`
	gc.Collection
}

// Suspension is one stop of a target's world that was not for garbage
// collection.
type Suspension struct {
	stall.Span
	EndMax stall.Instant `json:"end_max,omitempty"` // upper bound of End, 0 if none is known
	Reason string        `json:"reason"`
	Caller string        `json:"caller,omitempty"` // that stopped the world
	Target int           `json:"target,omitempty"`
}

// Status says how far a source has seen, and what was lost. The sums are those
// since the recording began.
type Status struct {
	Source      string        `json:"source"`
	Target      int           `json:"target,omitempty"` // that was watched, 0: none
	Probe       int           `json:"probe,omitempty"`  // that watched, 0: none
	At          stall.Instant `json:"at"`
	Watermark   stall.Instant `json:"watermark"`
	Dropped     uint64        `json:"dropped,omitempty"`
	DroppedTime time.Duration `json:"dropped_time,omitempty"`
	Unseen      time.Duration `json:"unseen,omitempty"`     // that a target was not watched, since it first was
	Unrecorded  uint64        `json:"unrecorded,omitempty"` // records and gaps that did not get into the file
}

// Host is what the machine did to the threads of a process since it was watched.
type Host struct {
	PID int `json:"pid"`
	// Followed says that every switch of the threads was followed. Else what
	// follows is counted, and nothing is covered.
	Followed bool          `json:"followed"`
	At       stall.Instant `json:"at,omitempty"`
	hostcount.Totals
}

// Doctor is the doctor's whole document, as it prints it with --json.
type Doctor struct{ json.RawMessage }

// End is the last record of a recording that ended in good order.
type End struct {
	At stall.Instant `json:"at"`
}

func (Environment) kind() Kind { return KindEnvironment }
func (Target) kind() Kind      { return KindTarget }
func (Probe) kind() Kind       { return KindProbe }
func (Collection) kind() Kind  { return KindCollection }
func (Suspension) kind() Kind  { return KindSuspension }
func (Status) kind() Kind      { return KindStatus }
func (Host) kind() Kind        { return KindHost }
func (Doctor) kind() Kind      { return KindDoctor }
func (End) kind() Kind         { return KindEnd }

func (Gaps) kind() Kind { return KindGaps }

// maxInstant keeps sums of a few instants from overflowing.
const maxInstant = math.MaxInt64 / 4

// check refuses times that cannot be, of what is not binary: sums of them would
// overflow, or a stop be shorter than nothing.
func check(r Record) error {
	switch v := r.(type) {
	case Environment:
		return instants(v.At)
	case Target:
		return instants(v.At)
	case Probe:
		return cmp.Or(instants(v.At), lengths(v.Floor))
	case Collection:
		return v.check()
	case Suspension:
		return cmp.Or(span(v.Start, v.End), span(v.Start, cmp.Or(v.EndMax, v.End)))
	case Status:
		return cmp.Or(instants(v.At, v.Watermark), lengths(v.DroppedTime, v.Unseen))
	case Host:
		p := v.GroupPressure.Or(hostcount.Pressure{})
		list := []time.Duration{v.Throttled.Or(0), p.CPU, p.Memory, p.IO}
		for _, d := range v.Times() {
			list = append(list, *d)
		}
		return cmp.Or(instants(v.At), lengths(list...))
	case End:
		return instants(v.At)
	}
	return nil
}

func (c *Collection) check() error {
	err := cmp.Or(span(c.Start.Or(0), max(c.Start.Or(0), c.End.Or(0))), instants(c.UtilizationSince.Or(0)))
	for _, p := range c.Pauses {
		err = cmp.Or(err, span(p.Start, p.End), span(p.Start, p.EndMax), lengths(p.Slack, p.Suspend.Or(0)))
	}
	return err
}

func instants(list ...stall.Instant) error {
	for _, at := range list {
		if at < 0 || at > maxInstant {
			return fmt.Errorf("%w: an instant of %d ns, want 0 to %d", ErrFormat, at, int64(maxInstant))
		}
	}
	return nil
}

func lengths(list ...time.Duration) error {
	for _, d := range list {
		if d < 0 || d > maxInstant {
			return fmt.Errorf("%w: a time of %d ns, want 0 to %d", ErrFormat, d, int64(maxInstant))
		}
	}
	return nil
}

func span(start, end stall.Instant) error {
	if end < start {
		return fmt.Errorf("%w: from %d to %d", ErrFormat, start, end)
	}
	return instants(start, end)
}
