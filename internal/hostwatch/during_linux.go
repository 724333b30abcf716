package hostwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// During returns what the machine did to the process in s, see
// [gc.HostDuring]. It has the watch look at once if it has not seen all of s:
// somebody has to call Next meanwhile, on another goroutine.
func (w *Watch) During(s stall.Span) gc.HostDuring {
	w.reach(s.End)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.history.during(s)
}

// reach returns when the watch has taken in all before t, unless t is to come.
func (w *Watch) reach(t stall.Instant) {
	w.mu.Lock()
	last := w.history.Last()
	w.mu.Unlock()
	behind := t.Add(2 * holdBack) // events come a little later
	if last >= behind {
		return
	}
	if ahead := behind.Sub(w.o.Clock.Now()); ahead > 0 {
		time.Sleep(min(ahead, 2*holdBack))
	}
	taken := make(chan struct{})
	select {
	case w.ask <- taken:
	case <-w.done:
		return
	}
	select {
	case <-taken:
	case <-w.done:
	}
}
