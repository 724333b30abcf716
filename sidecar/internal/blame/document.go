package blame

import (
	"time"

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
	RuntimeCycles  uint64         `json:"runtime_cycles"` // as the runtime counted over the same time
	Gaps           uint64         `json:"gaps"`           // of the probe beside the service
	Latency        LatencyJSON    `json:"latency"`
	GapAttribution GapsJSON       `json:"gap_attribution"`
	Attribution    []Attribution  `json:"attribution"`
	Affected       *Affected      `json:"affected,omitempty"` // absent if garbage collection delayed nobody
	GCMatters      []MatterJSON   `json:"gc_matters"`
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
}

// Attribution is one band in one fidelity. Every share sums to 1.
type Attribution struct {
	Bucket   string `json:"bucket"`
	Fidelity string `json:"fidelity"`
	Requests int    `json:"requests"`
	Affected int    `json:"affected"`
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
	QueueDuringGC   float64            `json:"queue_during_gc"`
	ArrivedDuringGC int                `json:"arrived_during_gc"`
	Coverage        float64            `json:"coverage"`
	Share           map[string]float64 `json:"share"`
	// AffectedShare is the same of the affected requests alone.
	AffectedShare map[string]float64 `json:"affected_share,omitempty"`
	// FirstStall is what stalled the affected requests most, Stalls the whole
	// order. Queue is not among them: it is what is left of the way to the handler
	// and back.
	FirstStall string             `json:"first_stall,omitempty"`
	Stalls     []string           `json:"stalls,omitempty"`
	HostDuring map[string]float64 `json:"host_during,omitempty"`
	Coincident map[string]float64 `json:"coincident,omitempty"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	l := r.Judgement.Latency
	d := Document{
		Schema: Schema, Requests: r.Requests, Errors: r.Errors, Unmatched: r.Unmatched,
		Collections: r.GC.Cycles, RuntimeCycles: r.GC.RuntimeCycles, Gaps: r.Outside.Gaps,
		Latency: LatencyJSON{P50: l.P50, P90: l.P90, P99: l.P99, Max: l.Max},
		GapAttribution: GapsJSON{
			Over50us: r.Inside.Over50us, GC: r.Inside.GC,
			Other: r.Inside.Other, Coincident: r.Inside.Coincident,
		},
		Attribution: []Attribution{},
		Affected:    r.Judgement.affected(),
		GCMatters:   []MatterJSON{},
		Blame:       r.Sentences(),
		Notes:       r.Notes,
	}
	if l.HasP999 {
		d.Latency.P999 = &l.P999
	}
	for _, m := range r.Judgement.Matters() {
		d.GCMatters = append(d.GCMatters, MatterJSON{m.Above, m.Requests, m.Verdict().String(), m.Least, m.Most})
	}
	for i := range r.Judgement.Rows {
		d.Attribution = append(d.Attribution, r.Judgement.Rows[i].attribution())
	}
	for _, line := range r.Setup {
		if d.Setup == nil {
			d.Setup = map[string]any{}
		}
		d.Setup[line.Title] = line.Text
	}
	return d
}

func (row *Row) attribution() Attribution {
	a := Attribution{
		Bucket: row.Band.String(), Fidelity: row.Fidelity.String(),
		Requests: row.Requests, Affected: row.Affected,
		One: row.Affected - row.Several, Several: row.Several, FullBlocking: row.FullBlocking, OneStop: row.OneStop,
		QueueDuringGC: row.Of(row.QueueDuringGC), ArrivedDuringGC: row.ArrivedDuringGC,
		Coverage:   row.Coverage(),
		Share:      whole(&row.Share),
		HostDuring: fractions(&row.Share.HostDuring, row.Share.Total),
		Coincident: fractions(&row.Share.Coincident, row.Share.Total),
	}
	a.GCShare, a.GCShareAffected = row.GCShare()
	if row.Affected > 0 {
		a.AffectedShare = whole(&row.AffectedShare)
		a.Stalls = names(Stalls(&row.AffectedShare))
		a.FirstStall = a.Stalls[0]
	}
	return a
}

func (j *Judgement) affected() *Affected {
	t, fidelity := j.delayed()
	if t.Affected == 0 {
		return nil
	}
	stalls := names(Stalls(&t.AffectedShare))
	return &Affected{fidelity.String(), t.Affected, stalls[0], stalls, whole(&t.AffectedShare)}
}

func names(causes []stall.Cause) []string {
	all := make([]string, len(causes))
	for i, c := range causes {
		all[i] = c.String()
	}
	return all
}

// whole returns all that s is made of, as fractions that sum to 1.
func whole(s *stall.Share) map[string]float64 {
	m := fractions(&s.Charged, s.Total)
	for name, d := range map[string]time.Duration{
		"app": s.App, "app_or_host": s.AppOrHost, "uncertain": s.Uncertain, "unseen": s.Unseen,
	} {
		if d > 0 {
			m[name] = ratio(d, s.Total)
		}
	}
	return m
}

func fractions(list *[stall.NumCauses]time.Duration, of time.Duration) map[string]float64 {
	m := map[string]float64{}
	for c := range stall.NumCauses {
		if list[c] > 0 {
			m[c.String()] = ratio(list[c], of)
		}
	}
	return m
}
