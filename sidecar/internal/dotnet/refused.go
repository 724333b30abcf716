package dotnet

import (
	"context"
	"fmt"
	"time"
)

// tellRefused says what the reverse port turned away, until ctx ends: a runtime
// that was told to wait for us hangs at its start. It says so again when there are
// twice as many, and at the end: anybody who may reach the port can dial for ever.
func (w *Watcher) tellRefused(ctx context.Context) {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for said, on := uint64(0), true; on; {
		select {
		case <-ctx.Done():
			on = false
		case <-ticker.C:
		}
		if n := w.port.Refused(); n > said && (!on || n >= 2*said) {
			facts := []any{"path", w.o.Listen, "connections", n - said, "so_far", n}
			if uid, ok := w.port.Stranger(); ok {
				facts = append(facts, "may_not_dial", fmt.Sprintf("uid %d: let it by --listen-diagnostics-uids %d", uid, uid))
			}
			w.o.Log.Warn("the reverse port turned connections away: no runtime's, of a user who may not dial, or too many; a runtime among them waits at its start, unless it was started with nosuspend", facts...)
			said = n
		}
	}
}
