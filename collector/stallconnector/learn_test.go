package stallconnector

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadatatest"
)

// TestLearnedOnce: the Collector gives events to every instance that takes in
// logs; one of them learns, and when it has stopped another.
func TestLearnedOnce(t *testing.T) {
	ctx, tel := context.Background(), componenttest.NewTelemetry()
	f, settings, config := NewFactory(), metadatatest.NewSettings(tel), createDefaultConfig()
	traces, err := f.CreateLogsToTraces(ctx, settings, config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := f.CreateLogsToMetrics(ctx, settings, config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	stopTraces, stopMetrics := lifecycle(t, traces), lifecycle(t, metrics)
	attributor := traces.(*instance).attributor
	learned := func() uint64 {
		for _, i := range []*instance{traces.(*instance), metrics.(*instance)} {
			if err := i.ConsumeLogs(ctx, watched()); err != nil {
				t.Fatal(err)
			}
		}
		return attributor.Lost().Duplicates
	}
	if got := learned(); got != 0 || attributor.Known() == 0 {
		t.Errorf("%d duplicates, %d bytes known; want each event learned once", got, attributor.Known())
	}
	stopTraces()
	if got := learned(); got != 1 {
		t.Errorf("%d duplicates, want 1: the instance that is left learns", got)
	}
	stopMetrics()
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
