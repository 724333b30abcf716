package target

import (
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
)

// TestBudgetOf: where the sidecar may have what its manifest gives it, all targets
// have a place, and both parts leave it a good third.
func TestBudgetOf(t *testing.T) {
	type part struct {
		memory  float64
		targets int
	}
	for limit, want := range map[int64]part{
		0:        {64 << 20, maxTargets},
		1 << 40:  {64 << 20, maxTargets},
		96 << 20: {24 << 20, 64}, // GOMEMLIMIT of charts/otelgc
		24 << 20: {6 << 20, 16},
		1 << 10:  {256, 1},
	} {
		b := dotnet.NewBudget(func() stall.Instant { return 0 }, limit)
		if got := (part{b.Memory, targetsWithin(limit)}); got != want {
			t.Errorf("%d bytes: got %+v, want %+v", limit, got, want)
		}
	}
}
