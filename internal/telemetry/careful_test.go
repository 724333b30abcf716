package telemetry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/stall"
)

// panicking is a processor of the program's that panics when it is asked, or
// when it is given a record.
type panicking struct {
	recorder
	asked bool
}

func (p *panicking) Enabled(context.Context, sdklog.EnabledParameters) bool {
	if p.asked {
		panic("the program's own")
	}
	return true
}

func (*panicking) OnEmit(context.Context, *sdklog.Record) error { panic("the program's own") }

// TestProcessorPanics: it costs the event, counted, and not the program.
func TestProcessorPanics(t *testing.T) {
	for name, asked := range map[string]bool{"asked": true, "given": false} {
		t.Run(name, func(t *testing.T) {
			reader := sdkmetric.NewManualReader()
			logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(&panicking{asked: asked}))
			tel, err := New(Options{
				Meter:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("otelgc"),
				Logger: logs.Logger("otelgc"),
			})
			if err != nil {
				t.Fatal(err)
			}
			tel.Status(Status{Source: stall.GCWatch, Since: 1, At: 2, Watermark: 2})
			want := []string{"[error.type=panic otelgc.item=event] = 1"}
			if diff := cmp.Diff(want, series1(t, &rig{reader: reader}, stall.MetricDropped)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if err := tel.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
