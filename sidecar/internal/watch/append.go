package watch

import "github.com/otelgc/otelgc/stall"

// Append writes what another source saw on the board, if there is one. It may
// be called from any goroutine, until Stop.
func (w *Watch) Append(list []stall.Interval) {
	if w.board == nil {
		return
	}
	for _, v := range list {
		if err := w.board.Append(v); err != nil {
			w.unwritten.Add(1)
		}
	}
}
