package report

import (
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// DocExperiment is what the document of a recording has besides. Collections
// and suspensions in the document are those behind the warm-up.
type DocExperiment struct {
	NotReproducible []string            `json:"not_reproducible"` // empty if all is there
	Machine         string              `json:"machine,omitempty"`
	OS              string              `json:"os,omitempty"`
	Runtimes        []recording.Target  `json:"runtimes"`
	Workload        string              `json:"workload,omitempty"`
	Probes          []DocProbe          `json:"probes"`
	BootID          string              `json:"boot_id,omitempty"`
	Warmup          time.Duration       `json:"warmup"`
	Start           stall.Instant       `json:"start"`
	End             stall.Instant       `json:"end"`
	Pauses          map[int]DocPausesOf `json:"pauses"`                     // by id of the runtime
	Summaries       map[int]Summary     `json:"summaries"`                  // by id of the runtime, of the results
	Common          *DocGaps            `json:"gaps_of_all_cpus,omitempty"` // at once
	Examined        bool                `json:"doctor_asked"`
	ExaminedLater   bool                `json:"doctor_asked_later,omitempty"` // by the report: the recording has no answers
	Failed          []string            `json:"doctor_failed,omitempty"`
	Warned          []Warning           `json:"doctor_warned,omitempty"`
	Unexamined      []int               `json:"doctor_not_asked_about,omitempty"` // PIDs
	Watched         map[int]DocWatched  `json:"watched,omitempty"`                // by id of the runtime: from outside
	Hosts           []DocHost           `json:"hosts,omitempty"`
}

// DocHost is what the machine did to the threads of a process behind the warm-up.
type DocHost struct {
	recording.Host
	Over time.Duration `json:"over"`
}

// DocWatched is how a process was watched behind the warm-up.
type DocWatched struct {
	Until  stall.Instant `json:"until"`
	Unseen time.Duration `json:"unseen"`
	Lost   uint64        `json:"events_lost"`
}

// DocPausesOf is the distribution of the pauses of a process, by kind.
type DocPausesOf map[string]Spread

// DocProbe is a probe and what it saw.
type DocProbe struct {
	recording.Probe
	Inside bool    `json:"inside"`
	Gaps   DocGaps `json:"gaps"`
}

// DocGaps is what a probe saw.
type DocGaps struct {
	Observed time.Duration     `json:"observed"`
	Dropped  uint64            `json:"dropped"`
	Total    uint64            `json:"total"`
	Time     time.Duration     `json:"gap_time"`
	Max      time.Duration     `json:"max"`
	Counts   map[string]uint64 `json:"counts"` // at least so long; not of lengths below the probe's threshold
	Causes   map[string]uint64 `json:"causes"`
	// Evidence holds, by what decided the cause, how many gaps there were: none is
	// that nothing did, not_recorded that the recording is from before it was kept.
	Evidence map[string]uint64 `json:"evidence"`
	Longest  []DocGap          `json:"longest"` // the longest first
	// Histogram holds, by the power of two of ns that a gap is not shorter
	// than, how many there were.
	Histogram map[int]uint64 `json:"histogram"`
	Over50us  uint64         `json:"over_50us"`
	// NotCompared are longer ones beyond Over50us, more than a report sets against
	// pauses.
	NotCompared uint64 `json:"over_50us_not_compared,omitempty"`
	// GC is the share of Over50us that garbage collection made: of a probe
	// within the process only.
	GC          *float64 `json:"gc_fraction,omitempty"`
	AtMost      bool     `json:"gc_fraction_at_most,omitempty"`
	Overlapping uint64   `json:"overlapping"`
	Expected    float64  `json:"overlapping_by_chance"`
}

// DocGap is one gap.
type DocGap struct {
	Start    stall.Instant `json:"start"`
	End      stall.Instant `json:"end"`
	Cause    string        `json:"cause"`
	Scope    string        `json:"scope"`
	Evidence string        `json:"evidence,omitempty"` // what decided the cause, in words; absent if nothing did
}

// boundNames are the names of gapBounds.
var boundNames = [len(gapBounds)]string{"2us", "10us", "50us", "100us", "1ms"}

func (r *Report) docExperiment() *DocExperiment {
	x := r.Experiment
	d := &DocExperiment{
		NotReproducible: append([]string{}, x.NotReproducible...), Machine: x.Machine, OS: x.OS,
		Runtimes: append([]recording.Target{}, x.Targets...), Workload: x.Workload,
		Probes: []DocProbe{}, BootID: x.BootID, Warmup: x.Warmup, Start: x.Results.Start, End: x.Results.End,
		Pauses: map[int]DocPausesOf{}, Summaries: map[int]Summary{}, Examined: x.Examined, ExaminedLater: x.ExaminedLater, Failed: x.Failed, Warned: x.Warned, Unexamined: x.Unexamined,
	}
	for _, h := range x.Hosts {
		d.Hosts = append(d.Hosts, DocHost{h.Host, h.Over})
	}
	for id, w := range x.Watched {
		if d.Watched == nil {
			d.Watched = make(map[int]DocWatched)
		}
		d.Watched[id] = DocWatched{w.Until, w.Unseen, w.Lost}
	}
	for _, p := range x.Probes {
		d.Probes = append(d.Probes, DocProbe{p.Probe, p.Inside(), p.Gaps.doc(p.Inside())})
	}
	if x.Common.Total > 0 {
		common := x.Common.doc(false)
		d.Common = &common
	}
	for i := range x.Targets {
		if t := &x.Targets[i]; t.Unwatched == "" {
			s := r.summaryOf(t)
			d.Pauses[t.ID], d.Summaries[t.ID] = s.Pauses, s
		}
	}
	return d
}

func (c *GapCounts) doc(inside bool) DocGaps {
	d := DocGaps{
		Observed: c.Observed, Dropped: c.Dropped, Total: c.Total, Time: c.Time, Max: c.Longest,
		Counts: map[string]uint64{}, Causes: map[string]uint64{}, Histogram: map[int]uint64{},
		Over50us: c.Long, NotCompared: c.longLeft, Overlapping: c.Overlapping, Expected: c.Expected,
		Evidence: map[string]uint64{}, Longest: []DocGap{},
	}
	for decision, sum := range c.Decided {
		d.Evidence[decision.by()] += sum.Gaps
	}
	for i := range c.Worst {
		g := &c.Worst[i]
		d.Longest = append(d.Longest, DocGap{g.Start, g.End, g.Cause.String(), g.Scope.String(), g.Evidence.String()})
	}
	for i, name := range boundNames {
		if gapBounds[i] >= c.floor {
			d.Counts[name] = c.AtLeast[i]
		}
	}
	for cause, n := range c.Causes {
		if n > 0 {
			d.Causes[stall.Cause(cause).String()] = n
		}
	}
	for i, n := range c.Histogram {
		if n > 0 {
			d.Histogram[i] = n
		}
	}
	if inside && c.Long > 0 {
		share := float64(c.GC) / float64(c.Long)
		d.GC, d.AtMost = &share, c.AtMost
	}
	return d
}
