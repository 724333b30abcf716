package blame

import (
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/slowed"
	"github.com/otelgc/otelgc/stall"
)

// Schema names the JSON document of the demo.
const Schema = "otelgc.demo/1"

// Document is the JSON document of the demo. What does not exist is absent.
// Durations are nanoseconds.
type Document struct {
	Schema         string         `json:"schema"`
	Requests       int            `json:"requests"`
	Collections    uint64         `json:"collections"`
	RuntimeCycles  uint64         `json:"runtime_cycles"`   // as the runtime counted over the same time
	Slowed         *slowed.Tally  `json:"slowed,omitempty"` // collections that the machine made pause long; absent if none
	Gaps           uint64         `json:"gaps"`             // of the probe beside the service
	Latency        LatencyJSON    `json:"latency"`
	GapAttribution GapsJSON       `json:"gap_attribution"`
	Attribution    []Attribution  `json:"attribution"`
	Stalls         []string       `json:"stalls"`             // of all requests, the most first, queue not among them
	Affected       *Affected      `json:"affected,omitempty"` // absent if garbage collection delayed nobody
	GCMatters      []MatterJSON   `json:"gc_matters"`
	Injected       *InjectedJSON  `json:"injected,omitempty"`  // absent if nothing was
	Unmatched      int            `json:"unmatched,omitempty"` // requests without an account: all unseen
	Errors         int            `json:"errors"`
	Blame          []string       `json:"blame"`
	Notes          []string       `json:"notes,omitempty"`
	Setup          map[string]any `json:"setup,omitempty"`
}

// LatencyJSON holds percentiles from the intended start, in nanoseconds.
type LatencyJSON struct {
	P50  time.Duration  `json:"p50"`
	P90  time.Duration  `json:"p90"`
	P99  time.Duration  `json:"p99"`
	P999 *time.Duration `json:"p999,omitempty"` // absent below 10,000 requests
	Max  time.Duration  `json:"max"`
}

// GapsJSON counts the gaps of the probe in the service's process.
type GapsJSON struct {
	Over50us   int `json:"over_50us"`
	GC         int `json:"gc"`
	Other      int `json:"other"`
	Coincident int `json:"coincident"`
}

// Affected is the requests of all bands that garbage collection delayed, in the
// better fidelity of those in which there are any.
type Affected struct {
	Fidelity   string   `json:"fidelity"`
	Requests   int      `json:"requests"`
	FirstStall string   `json:"first_stall"`
	Stalls     []string `json:"stalls"` // the most first, queue not among them
	// Share is whose their time was. It sums to 1.
	Share map[string]float64 `json:"share"`
}

// MatterJSON says whether garbage collection had a tenth or more of the time of
// the requests above a percentile.
type MatterJSON struct {
	Above    string  `json:"above"`
	Requests int     `json:"requests"`
	Matters  string  `json:"matters"` // yes, no or unknown
	Least    float64 `json:"gc_share_least"`
	Most     float64 `json:"gc_share_most"`
	Sched    float64 `json:"sched_gc"`        // in neither
	Hidden   float64 `json:"queue_per_cycle"` // queue in which sched.gc does not show
}

// InjectedJSON is what was done to the service on purpose.
type InjectedJSON struct {
	What      string  `json:"what"`
	Times     uint64  `json:"times,omitempty"`
	PerSecond float64 `json:"per_second,omitempty"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	l, all := r.Judgement.Latency, r.all()
	d := Document{
		Schema: Schema, Requests: r.Requests, Errors: r.Errors, Unmatched: r.Unmatched,
		Collections: r.GC.Cycles, RuntimeCycles: r.GC.RuntimeCycles, Gaps: r.Outside.Gaps,
		Latency: LatencyJSON{P50: l.P50, P90: l.P90, P99: l.P99, Max: l.Max},
		GapAttribution: GapsJSON{
			Over50us: r.Inside.Over50us, GC: r.Inside.GC,
			Other: r.Inside.Other, Coincident: r.Inside.Coincident,
		},
		Attribution: []Attribution{},
		Stalls:      names(stallsOf(&all.Share)),
		Affected:    r.Judgement.affected(),
		GCMatters:   []MatterJSON{},
		Blame:       r.Sentences(),
		Notes:       r.notes(),
	}
	if r.GC.Slowed != (slowed.Tally{}) {
		d.Slowed = &r.GC.Slowed
	}
	if l.HasP999 {
		d.Latency.P999 = &l.P999
	}
	for _, m := range r.Judgement.byPercentile() {
		d.GCMatters = append(d.GCMatters, MatterJSON{m.above, m.requests, m.verdict().String(), m.least, m.most, m.sched, m.hidden})
	}
	for i := range r.Judgement.Rows {
		d.Attribution = append(d.Attribution, r.Judgement.Rows[i].attribution())
	}
	if i := &r.Injected; i.What != "" {
		d.Injected = &InjectedJSON{i.What, i.Times, 0}
		if i.Times > 0 {
			d.Injected.PerSecond = i.PerSecond()
		}
	}
	for _, line := range r.Setup {
		if d.Setup == nil {
			d.Setup = map[string]any{}
		}
		d.Setup[line.Title] = line.Text
	}
	return d
}

func (j *Judgement) affected() *Affected {
	t, fidelity := j.delayed()
	if t.Affected == 0 {
		return nil
	}
	stalls := names(stallsOf(&t.AffectedShare))
	return &Affected{fidelity.String(), t.Affected, stalls[0], stalls, whole(&t.AffectedShare, t.AffectedGenerator)}
}

func names(causes []stall.Cause) []string {
	all := make([]string, len(causes))
	for i, c := range causes {
		all[i] = c.String()
	}
	return all
}
