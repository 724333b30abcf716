package cli

import (
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
)

// early keeps what comes before there is a file, as much of each as a file lets wait
// for the disk.
type early struct {
	gaps    []jitterprobe.Gap
	records []recording.Record
	lost    uint64 // of both, for want of room
}

func (e *early) gap(g jitterprobe.Gap) {
	if len(e.gaps) == recording.MaxPending {
		e.lost++
		return
	}
	e.gaps = append(e.gaps, g)
}

func (e *early) record(o recording.Record) {
	if len(e.records) == recording.MaxPending {
		e.lost++
		return
	}
	e.records = append(e.records, o)
}

// take returns what was kept, and keeps it no longer.
func (e *early) take() (gaps []jitterprobe.Gap, records []recording.Record) {
	gaps, records = e.gaps, e.records
	e.gaps, e.records = nil, nil
	return gaps, records
}
