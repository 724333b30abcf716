package target

import (
	"context"
	"time"
)

// tellRefused says what the reverse port turned away, until ctx ends: a runtime
// that was told to wait for us hangs at its start.
func (w *Watcher) tellRefused(ctx context.Context) {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for said, on := uint64(0), true; on; {
		select {
		case <-ctx.Done():
			on = false
		case <-ticker.C:
		}
		if n := w.port.Refused(); n > said {
			w.o.Log.Warn("the reverse port turned connections away: no runtime's, or too many; a runtime among them waits at its start, unless it was started with nosuspend",
				"path", w.o.Listen, "connections", n-said, "so_far", n)
			said = n
		}
	}
}
