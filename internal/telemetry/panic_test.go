package telemetry

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/semconv"
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
			tel.Status(semconv.Status{Origin: stall.GCWatch, Since: 1, At: 2, Watermark: 2})
			want := []string{"[error.type=panic otelgc.item=event] = 1"}
			if diff := cmp.Diff(want, series1(t, &rig{reader: reader}, semconv.MetricDropped)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if err := tel.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMetricsPanic: code of the program's that is called where a value is recorded
// costs the value, counted where that does not panic too.
func TestMetricsPanic(t *testing.T) {
	for name, most := range map[string]int{"always": 1 << 30, "once": 1} {
		t.Run(name, func(t *testing.T) {
			reader, left := sdkmetric.NewManualReader(), most
			filter := func(context.Context) bool {
				if left > 0 {
					left--
					panic("the program's own")
				}
				return false
			}
			tel, err := New(Options{
				Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithExemplarFilter(filter)).Meter("otelgc"),
			})
			if err != nil {
				t.Fatal(err)
			}
			collected := exactCollection()
			for range 2 { // once more: nothing is left locked
				tel.Collection(&collected)
				tel.Suspension(stopAt(1), "r", "", stall.Exact)
				tel.Observed(stall.ProbeSpin, 1)
				tel.Coverage(stall.GCWatch, 1)
				tel.Dropped("window", "test", 1)
			}
			left = 0 // the reader's own goroutine is not ours
			var got []string
			for _, line := range series1(t, &rig{reader: reader}, semconv.MetricDropped) {
				of, _, _ := strings.Cut(line, " = ")
				got = append(got, of)
			}
			want := []string{"[error.type=panic otelgc.item=sample]", "[error.type=test otelgc.item=window]"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if err := tel.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
