package report

import (
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall/gc"
)

// Summary is what the printed tables say.
type Summary struct {
	Before     gc.Maybe[uint64]        `json:"collections_before,omitzero"` // of the process, before the file
	Pause      time.Duration           `json:"pause"`                       // of all collections
	PauseShare gc.Maybe[float64]       `json:"pause_share,omitzero"`        // of the time in the file
	Suspend    gc.Maybe[time.Duration] `json:"suspend,omitzero"`            // what it took to stop the threads
	// TimeInGC is the "% time in GC" of the last collection, 0 to 1.
	TimeInGC gc.Maybe[float64] `json:"time_in_gc,omitzero"`
	Pauses   map[string]Spread `json:"pauses"` // by kind, one sample per stop
	Rollup   []DocRow          `json:"rollup"`
	Reasons  map[string]Spread `json:"suspensions"`        // by reason
	Requests []Latency         `json:"requests,omitempty"` // that package otelgc marked
	Assist   *Effort           `json:"assist,omitempty"`
	Sweep    *Effort           `json:"sweep,omitempty"`
}

// DocRow sums up some of the collections.
type DocRow struct {
	Title         string             `json:"title"`
	Count         int                `json:"count"`
	Induced       int                `json:"induced"`
	MaxPause      time.Duration      `json:"max_pause"`
	MeanPause     time.Duration      `json:"mean_pause"`
	Pause         time.Duration      `json:"pause"`
	Promoted      gc.Maybe[gc.Bytes] `json:"promoted,omitzero"`
	HeapBefore    gc.Maybe[gc.Bytes] `json:"heap_before,omitzero"`
	HeapAfter     gc.Maybe[gc.Bytes] `json:"heap_after,omitzero"`
	Survival      gc.Maybe[float64]  `json:"survival,omitzero"`
	Fragmentation gc.Maybe[float64]  `json:"fragmentation,omitzero"`
}

func (r *Report) summary() Summary {
	s := Summary{
		Before: r.Before(), Pause: r.PauseTotal(), PauseShare: r.PauseShare(), Suspend: r.Suspended(),
		Pauses: r.pausesByKind(), Requests: r.Requests, Rollup: []DocRow{}, Reasons: map[string]Spread{},
	}
	if shares := r.TimeInGC(); len(shares) > 0 {
		s.TimeInGC = gc.Known(shares[len(shares)-1].Share)
	}
	for _, row := range r.Rollup() {
		if row.Count > 0 {
			s.Rollup = append(s.Rollup, DocRow{
				row.Title, row.Count, row.Induced, row.MaxPause, row.MeanPause(), row.Pause,
				row.Promoted, row.HeapBefore, row.HeapAfter, row.Survival, row.Fragmentation,
			})
		}
	}
	for _, reason := range r.Reasons() {
		s.Reasons[reason.Reason] = reason.Spread
	}
	if !r.Source.dotnet {
		s.Assist, s.Sweep = &r.Work.Assist, &r.Work.Sweep
	}
	return s
}

// summaryOf sums up one process of a recording. Its share is of the results in
// which it was watched. What its goroutines did for the collector no recording
// holds.
func (r *Report) summaryOf(t *recording.Target) Summary {
	s := r.only(t.ID).summary()
	s.PauseShare = share(s.Pause, r.Experiment.watchedFor(t))
	s.Assist, s.Sweep = nil, nil
	return s
}

// pausesByKind returns the distribution of the pauses of each kind that occurred.
func (r *Report) pausesByKind() map[string]Spread {
	spreads := map[string]Spread{}
	for kind := gc.NoKind + 1; kind < gc.NumKinds; kind++ {
		if p := r.PausesOf(kind); p.Count > 0 {
			spreads[kind.String()] = p
		}
	}
	return spreads
}
