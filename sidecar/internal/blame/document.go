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

// Attribution is one band in one fidelity. Every share sums to 1.
type Attribution struct {
	Bucket   string             `json:"bucket"`
	Fidelity string             `json:"fidelity"`
	Requests int                `json:"requests"`
	Affected int                `json:"affected"`
	Several  int                `json:"several_collections"`
	Coverage float64            `json:"coverage"`
	Share    map[string]float64 `json:"share"`
	// AffectedShare is the same of the affected requests alone.
	AffectedShare map[string]float64 `json:"affected_share,omitempty"`
	HostDuring    map[string]float64 `json:"host_during,omitempty"`
	Coincident    map[string]float64 `json:"coincident,omitempty"`
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
		Blame:       r.Sentences(),
		Notes:       r.Notes,
	}
	if l.HasP999 {
		d.Latency.P999 = &l.P999
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
		Requests: row.Requests, Affected: row.Affected, Several: row.Several,
		Coverage:   row.Coverage(),
		Share:      whole(&row.Share),
		HostDuring: fractions(&row.Share.HostDuring, row.Share.Total),
		Coincident: fractions(&row.Share.Coincident, row.Share.Total),
	}
	if row.Affected > 0 {
		a.AffectedShare = whole(&row.AffectedShare)
	}
	return a
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
