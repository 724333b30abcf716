package blame

import (
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/slowed"
	"github.com/otelgc/otelgc/stall"
)

// Report is a run of the demo, ready to be printed.
type Report struct {
	Setup     []Line // what ran, and who shared what
	Judgement Judgement
	Requests  int // answered
	Errors    int // not answered, or not sent in time
	Unmatched int // answered, but the service gave no account of them: all unseen

	// Start is the beginning of the load; instants are printed relative to it.
	Start stall.Instant

	Injected Injected
	GC       Collections
	Inside   Inside
	Outside  Outside
	Notes    []string // what the reader has to know before believing a number
}

// Line is a title and what it says.
type Line struct{ Title, Text string }

// Injected is what was done to the service on purpose, and how often in which
// time; the zero value is nothing.
type Injected struct {
	What  string
	Times uint64 // zero for what is not done a number of times
	Over  time.Duration
}

// PerSecond returns how often it was done.
func (i *Injected) PerSecond() float64 { return float64(i.Times) / max(i.Over.Seconds(), 1e-9) }

// Collections is what the collector did in the service.
type Collections struct {
	Cycles        uint64 // as the monitor counted them
	RuntimeCycles uint64 // as the runtime did, over the same time
	Pause         time.Duration
	LongestPause  time.Duration
	Slowed        slowed.Tally // that the machine made pause long
}

// Inside tells of the gaps of the probe in the service's process that are
// longer than 50 us. GC, Coincident and Other sum to Over50us.
type Inside struct {
	Mode     string
	Over50us int
	GC       int // at least half of the gap is a pause of the collector
	// Coincident gaps are no pause's, but overlap a gap that the outside probe
	// saw on another CPU.
	Coincident int
	Other      int
}

// Outside tells of the probe beside the service.
type Outside struct {
	Mode     string
	CPU      int // -1 if it was not pinned
	Gaps     uint64
	GapTime  time.Duration
	Longest  time.Duration
	Observed time.Duration
	Dropped  uint64
	Board    bool                           // the service read its gaps
	Causes   [stall.NumCauses]time.Duration // what of GapTime is of which cause
}

// Lost returns the fraction of the observed time that fell into gaps.
func (o *Outside) Lost() float64 {
	if o.Observed <= 0 {
		return 0
	}
	return float64(o.GapTime) / float64(o.Observed)
}

// all returns the tally of every request.
func (r *Report) all() Tally { return r.Judgement.sum(func(*Row) bool { return true }) }

// tail returns the tally of the requests above p99, and of those of them that were
// watched per cycle only.
func (r *Report) tail() (t, cycle Tally) {
	t = r.Judgement.sum(func(row *Row) bool { return row.Band.Tail() })
	cycle = r.Judgement.sum(func(row *Row) bool { return row.Band.Tail() && row.Fidelity == stall.Cycle })
	return t, cycle
}
