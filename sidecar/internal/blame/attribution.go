package blame

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

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
	// Stalls is what stalled the requests, the most first, AffectedStalls the same
	// of the affected ones, and FirstStall the first of these. Queue is not among
	// them: it is what is left of the way to the handler and back.
	Stalls         []string           `json:"stalls,omitempty"`
	AffectedStalls []string           `json:"affected_stalls,omitempty"`
	FirstStall     string             `json:"first_stall,omitempty"`
	HostDuring     map[string]float64 `json:"host_during,omitempty"`
	Coincident     map[string]float64 `json:"coincident,omitempty"`
}

func (row *Row) attribution() Attribution {
	a := Attribution{
		Bucket: row.Band.String(), Fidelity: row.Fidelity.String(),
		Requests: row.Requests, Affected: row.Affected,
		One: row.Affected - row.Several, Several: row.Several, FullBlocking: row.FullBlocking, OneStop: row.OneStop,
		QueueDuringGC: row.Of(row.QueueDuringGC), ArrivedDuringGC: row.ArrivedDuringGC,
		Coverage:   row.Coverage(),
		Share:      whole(&row.Share, row.Generator),
		HostDuring: fractions(&row.Share.HostDuring, row.Share.Total),
		Coincident: fractions(&row.Share.Coincident, row.Share.Total),
	}
	a.Stalls = names(stallsOf(&row.Share))
	a.GCShare, a.GCShareAffected = row.GCShare()
	if row.Affected > 0 {
		a.AffectedShare = whole(&row.AffectedShare, row.AffectedGenerator)
		a.AffectedStalls = names(stallsOf(&row.AffectedShare))
		a.FirstStall = a.AffectedStalls[0]
	}
	return a
}

// whole returns all that s and the generator's part of it are made of, as fractions
// that sum to 1.
func whole(s *stall.Share, generator time.Duration) map[string]float64 {
	m := fractions(&s.Charged, s.Total)
	for name, d := range map[string]time.Duration{
		"generator": generator,
		"app":       s.App, "app_or_host": s.AppOrHost, "uncertain": s.Uncertain, "unseen": s.Unseen,
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
