package stallconnector

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestUnfed: a connector that no event can reach says so, once.
func TestUnfed(t *testing.T) {
	for name, x := range map[string]struct{ events, want int }{"spans only": {0, 1}, "spans and events": {1, 0}} {
		core, logged := observer.New(zap.WarnLevel)
		settings := settings()
		settings.Logger = zap.New(core)
		ctx, f, config := context.Background(), NewFactory(), createDefaultConfig()
		traces, err1 := f.CreateTracesToTraces(ctx, settings, config, consumertest.NewNop())
		metrics, err2 := f.CreateTracesToMetrics(ctx, settings, config, consumertest.NewNop())
		all := []component.Component{traces, metrics}
		for range x.events {
			events, err := f.CreateLogsToTraces(ctx, settings, config, consumertest.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, events)
		}
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		lifecycle(t, all...)()
		if got := logged.Len(); got != x.want {
			t.Errorf("%s: %d warnings, want %d: %v", name, got, x.want, logged.All())
		}
	}
}
