package hostwatch

import (
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// resolveUnknown asks for the CPU time of each thread that was ready or running
// when the watch began, and that no event has told of since: as it has not been
// switched in or out, it either waits all the time or runs all the time. If its
// time has grown, it runs.
func (w *Watch) resolveUnknown(upTo stall.Instant) {
	if w.ran == nil {
		w.ran = map[int32]time.Duration{}
	}
	coming := map[int32]bool{} // of which an event tells soon
	for i := range w.events {
		coming[w.events[i].tid] = true
	}
	for tid, t := range w.timeline.threads {
		if t.state != unknown {
			delete(w.ran, tid)
			continue
		}
		now, _, err := w.process.Schedstat(strconv.Itoa(int(tid)))
		if err != nil {
			delete(w.timeline.threads, tid) // it has ended
			continue
		}
		before, asked := w.ran[tid]
		w.ran[tid] = now
		if asked && now > before && !coming[tid] {
			w.timeline.threads[tid] = thread{state: running, since: upTo}
		}
	}
}
