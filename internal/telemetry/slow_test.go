package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/log"

	"github.com/otelgc/otelgc/stall"
)

// TestSlowKeptBack: a slow request is no stall, so that no source has lost
// anything when its event is kept back.
func TestSlowKeptBack(t *testing.T) {
	r := newRig(t, Options{MinSeverity: log.SeverityWarn})
	s := stall.Share{Total: 5 * time.Millisecond}
	r.Slow(&Request{Share: &s}, &stall.Window{Start: 1, End: 5_000_001}, stall.GCWatch, "slow")
	if got := r.Loss(stall.GCWatch); got != (Loss{}) {
		t.Errorf("gcwatch lost %+v, want nothing", got)
	}
	if got, want := r.Loss(stall.NoOrigin), (Loss{Count: 1, Duration: 5 * time.Millisecond}); got != want {
		t.Errorf("of no source %+v are lost, want %+v", got, want)
	}
}
