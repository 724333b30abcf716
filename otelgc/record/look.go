package record

import (
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
)

// lookEvery is the time between two looks at the monitor, which keeps 1024
// collections.
const lookEvery = time.Second

func (r *Recorder) run() {
	defer close(r.done)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-tick.C:
			r.look(r.probe.Snapshot())
		}
	}
}

// look records what has become known since the last look.
func (r *Recorder) look(s jitterprobe.Snapshot) {
	collections, dropped := r.monitor.Collections(r.collection)
	r.lost += dropped
	for i := range collections {
		r.collection = collections[i].Index
		if end, ok := collections[i].End.Get(); ok && end < r.since {
			continue
		}
		r.file.Add(recording.Collection{Target: self, Collection: collections[i]})
	}
	stops, dropped := r.monitor.Suspensions(r.suspension)
	r.lost += dropped
	for i := range stops {
		v := &stops[i]
		r.suspension = v.Index
		if v.End < r.since {
			continue
		}
		r.file.Add(recording.Suspension{Target: self, Span: v.Span(), Reason: v.Reason, Caller: v.Caller})
	}
	r.file.Add(recording.Status{
		Source: "probe." + r.probe.Mode().String(), Probe: inside, At: r.clock.Now(), Watermark: s.Watermark,
		Dropped: s.Dropped, DroppedTime: s.DroppedTime, Unrecorded: r.file.Dropped() + r.lost,
	})
}
