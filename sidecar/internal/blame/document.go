package blame

import (
	"time"

	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Schema names the JSON document of the demo.
const Schema = "otelgc.demo/1"

// Document is the JSON document of the demo. What does not exist is absent.
// Durations are nanoseconds.
type Document struct {
	Schema         string            `json:"schema"`
	Requests       int               `json:"requests"`
	Collections    uint64            `json:"collections"`
	RuntimeCycles  uint64            `json:"runtime_cycles"`  // as the runtime counted over the same time
	Slowed         slowed.Tally      `json:"slowed,omitzero"` // collections that the machine made pause long; absent if none
	Gaps           uint64            `json:"gaps"`            // of the probe beside the service
	Latency        Latency           `json:"latency"`
	GapAttribution Inside            `json:"gap_attribution"`
	Attribution    []Attribution     `json:"attribution"`
	Stalls         []stall.Cause     `json:"stalls"`             // of all requests, the most first, queue not among them
	Affected       *Affected         `json:"affected,omitempty"` // absent if garbage collection delayed nobody
	GCMatters      []Matter          `json:"gc_matters"`
	Injected       *Injected         `json:"injected,omitempty"`  // absent if nothing was
	Unmatched      int               `json:"unmatched,omitempty"` // requests without an account: all unseen
	Errors         int               `json:"errors"`
	Headline       string            `json:"headline"`
	Blame          []string          `json:"blame"`
	Notes          []string          `json:"notes,omitempty"`
	Setup          map[string]string `json:"setup,omitempty"`
}

// Attribution is one band in one fidelity. Every share sums to 1.
type Attribution struct {
	Bucket   string         `json:"bucket"`
	Fidelity stall.Fidelity `json:"fidelity"`
	Requests int            `json:"requests"`
	Time     time.Duration  `json:"time"` // of all of them
	Affected int            `json:"affected"`
	// One, Several, FullBlocking and OneStop are the affected requests that one
	// collection delayed, more than one, a full blocking one, and two that shared
	// one stop.
	One          int `json:"one_collection"`
	Several      int `json:"several_collections"`
	FullBlocking int `json:"full_blocking"`
	OneStop      int `json:"two_in_one_stop"`
	// GCShare is what garbage collection had of the time of all requests of the
	// row, GCShareAffected of the affected ones; sched.gc is in neither.
	GCShare         float64 `json:"gc_share"`
	GCShareAffected float64 `json:"gc_share_affected"`
	// QueueDuringGC is the part of the time charged to queue in which a collection
	// was under way, at most, as a fraction of the row's time, and ArrivedDuringGC
	// the requests that arrived during one: what chance would give. Both are known
	// of fidelity exact only.
	QueueDuringGC   float64 `json:"queue_during_gc"`
	ArrivedDuringGC int     `json:"arrived_during_gc"`
	// QueueBehindGC and SchedBehindGC are the parts of the row's time charged to queue, and
	// to sched and sched.gc, in which another slow request that the collector held up was
	// in its handler, at most.
	QueueBehindGC float64            `json:"queue_behind_gc"`
	SchedBehindGC float64            `json:"sched_behind_gc"`
	Coverage      float64            `json:"coverage"`
	Share         map[string]float64 `json:"share"`
	// AffectedShare is the same of the affected requests alone.
	AffectedShare map[string]float64 `json:"affected_share,omitempty"`
	// Stalls is what stalled the requests, the most first, AffectedStalls the same
	// of the affected ones, and FirstStall the first of these. Queue is not among
	// them: it is what is left of the way to the handler and back.
	Stalls         []stall.Cause           `json:"stalls,omitempty"`
	AffectedStalls []stall.Cause           `json:"affected_stalls,omitempty"`
	FirstStall     stall.Cause             `json:"first_stall,omitempty"`
	HostDuring     map[stall.Cause]float64 `json:"host_during,omitempty"`
	Coincident     map[stall.Cause]float64 `json:"coincident,omitempty"`
}

// Affected is the requests of all bands that garbage collection delayed, in the
// better fidelity of those in which there are any.
type Affected struct {
	Fidelity   stall.Fidelity `json:"fidelity"`
	Requests   int            `json:"requests"`
	FirstStall stall.Cause    `json:"first_stall"`
	Stalls     []stall.Cause  `json:"stalls"` // the most first, queue not among them
	// Share is the part of each owner of their time. It sums to 1.
	Share map[string]float64 `json:"share"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	j := &r.Summary
	all := j.sum(ToP50)
	d := Document{
		Schema: Schema, Requests: r.Requests, Errors: r.Errors, Unmatched: r.Unmatched,
		Collections: r.GC.Cycles, RuntimeCycles: r.GC.RuntimeCycles, Slowed: r.GC.Slowed, Gaps: r.Outside.Gaps,
		Latency: j.Latency, GapAttribution: r.Inside, Attribution: []Attribution{},
		Stalls: all.stalls(), GCMatters: j.byPercentile(), Headline: r.Headline(), Blame: r.Sentences(), Notes: r.notes(), Setup: map[string]string{}, Injected: r.Injected,
	}
	for i := range j.Rows {
		d.Attribution = append(d.Attribution, j.Rows[i].attribution())
	}
	if t, fidelity := j.delayed(); t.Affected > 0 {
		stalls := t.affected.stalls()
		d.Affected = &Affected{fidelity, t.Affected, stalls[0], stalls, t.affected.shares()}
	}
	for _, line := range r.Setup {
		d.Setup[line.Title] = line.Text
	}
	return d
}

func (row *Row) attribution() Attribution {
	a := Attribution{
		Bucket: bands[row.Band].name, Fidelity: row.Fidelity,
		Requests: row.Requests, Time: row.Share.Total, Affected: row.Affected,
		One: row.Affected - row.Several, Several: row.Several, FullBlocking: row.FullBlocking, OneStop: row.OneStop,
		QueueDuringGC: row.Of(row.QueueDuringGC), ArrivedDuringGC: row.ArrivedDuringGC,
		QueueBehindGC: row.Of(row.QueueBehindGC), SchedBehindGC: row.Of(row.SchedBehindGC),
		Coverage:   row.Coverage(),
		Share:      row.shares(),
		Stalls:     row.stalls(),
		HostDuring: fractions(&row.Share.HostDuring, row.Share.Total),
		Coincident: fractions(&row.Share.Coincident, row.Share.Total),
	}
	a.GCShare, a.GCShareAffected = row.GCShare()
	if row.Affected > 0 {
		a.AffectedShare, a.AffectedStalls = row.affected.shares(), row.affected.stalls()
		a.FirstStall = a.AffectedStalls[0]
	}
	return a
}

// shares returns the parts of all owners, the load generator too, as fractions that sum
// to 1.
func (s *spent) shares() map[string]float64 {
	m := map[string]float64{}
	for _, p := range s.parts() {
		m[p.name] = textfmt.Ratio(p.d, s.Share.Total)
	}
	return m
}

// part is the part of an owner.
type part struct {
	name string
	d    time.Duration
}

// parts returns the owners that have a part.
func (s *spent) parts() (list []part) {
	if s.Generator > 0 {
		list = append(list, part{"generator", s.Generator})
	}
	for i := range semconv.NumOwners { // what is left over first
		o := (semconv.App + i) % semconv.NumOwners
		if d := *o.Part(&s.Share); d > 0 {
			list = append(list, part{o.String(), d})
		}
	}
	return list
}

func fractions(list *[stall.NumCauses]time.Duration, of time.Duration) map[stall.Cause]float64 {
	m := map[stall.Cause]float64{}
	for c := range stall.NumCauses {
		if list[c] > 0 {
			m[c] = textfmt.Ratio(list[c], of)
		}
	}
	return m
}
