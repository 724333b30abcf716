package cli

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// watched is how far a probe has seen.
type watched struct {
	mark    stall.Instant
	dropped uint64
	lost    time.Duration
}

func watchedBy(s *jitterprobe.Snapshot) watched {
	return watched{s.Watermark, s.Dropped, s.DroppedTime}
}

// settled says once a second how far the probes are.
func (r *recorder) settled(s jitterprobe.Snapshot, others []jitterprobe.Snapshot) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beside = r.beside[:0]
	for i := range others {
		r.beside = append(r.beside, watchedBy(&others[i]))
	}
	now := r.clock.Now()
	if r.file == nil || now.Sub(r.status) < statusEvery {
		return
	}
	r.status = now
	r.tell(now, watchedBy(&s))
}

func (r *recorder) tell(now stall.Instant, first watched) {
	if err := r.file.Err(); err != nil && !r.failed {
		r.failed = true
		r.log.Warn("the recording ends here", "error", err)
	}
	for i, w := range append([]watched{first}, r.beside...) {
		p := &r.probes[i]
		r.file.Add(recording.Status{
			Source: "probe." + p.Mode, Probe: p.ID, At: now, Watermark: w.mark,
			Dropped: w.dropped, DroppedTime: w.lost, Unrecorded: r.file.Dropped() + r.early.lost,
		})
	}
}

// close says the last word, when nobody adds any more. The recording ends where the
// probe did: nobody watched later, and for the kernel to end its tracing may take
// seconds, which are no results.
func (r *recorder) close(s jitterprobe.Snapshot) error {
	if r == nil || r.file == nil {
		return nil
	}
	r.awaitDoctor()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(s.Watermark, watchedBy(&s))
	r.file.Add(recording.End{At: s.Watermark})
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("the recording is not whole: %w", err)
	}
	return nil
}
