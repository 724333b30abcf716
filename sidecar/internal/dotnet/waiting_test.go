package dotnet

import (
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
)

func TestWaiting(t *testing.T) {
	var w waiting
	stop := func(begin stall.Instant, collections ...uint64) {
		w.stop(&dotnetgc.Stop{Begin: begin, Collections: collections})
	}
	check := func(want stall.Instant) {
		t.Helper()
		if got := w.bound(1000); got != want {
			t.Errorf("watermark: got %d, want %d", got, want)
		}
	}
	check(1000)
	stop(500, 7) // the first pause of a background collection
	check(500)
	stop(600, 8)
	w.collection(8)
	check(500)
	stop(700, 7) // its second one
	w.collection(7)
	check(1000)
	stop(800, 7) // its record came before
	check(1000)
	w.pending = 900
	check(900)
	w.reset()
	check(1000)
	for i := range uint64(3 * maxWaiting) {
		stop(stall.Instant(i), i+1)
	}
	check(2 * maxWaiting)
}
