package stallconnector

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/semconv"
)

// TestRestart: a connector that stops under load hands on what it holds and
// sends its last sums; the one that comes after begins anew and says since when.
func TestRestart(t *testing.T) {
	config := createDefaultConfig().(*Config)
	var began []pmetric.NumberDataPoint
	for range 2 {
		w, stop := newWhole(t, config)
		for range 50 {
			w.spans(t, request())
		}
		if err := w.events.ConsumeLogs(context.Background(), watched()); err != nil {
			t.Fatal(err)
		}
		stop()
		if got := w.toTraces.SpanCount(); got != 50 {
			t.Errorf("%d spans went on, want 50", got)
		}
		all := w.toMetrics.AllMetrics()
		if len(all) == 0 {
			t.Fatal("the last sums were not sent")
		}
		p := requests(t, all[len(all)-1])
		if p.IntValue() != 50 {
			t.Errorf("%d requests, want 50", p.IntValue())
		}
		began = append(began, p)
	}
	if began[1].StartTimestamp() <= began[0].StartTimestamp() {
		t.Error("the sums of the second do not begin after those of the first: they would be taken for one series that fell")
	}
}

func requests(t *testing.T, md pmetric.Metrics) pmetric.NumberDataPoint {
	t.Helper()
	for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if m.Name() == semconv.MetricRequests {
			return m.Sum().DataPoints().At(0)
		}
	}
	t.Fatal("no " + semconv.MetricRequests)
	return pmetric.NumberDataPoint{}
}

// TestOneLimit: however many pairs of signals a connector stands between, each
// span is held once, under one limit.
func TestOneLimit(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.MaxSpans = 10
	w, stop := newWhole(t, config)
	for range 10 {
		w.spans(t, request())
	}
	if spans, _ := w.traces.(*instance).attributor.Held(); spans != 10 {
		t.Errorf("%d spans held, want 10", spans)
	}
	if got := w.toTraces.SpanCount(); got != 0 {
		t.Errorf("%d spans went on for want of room, want none", got)
	}
	stop()
}

// TestFirstToStopStillHandsOn: whichever instance stops first, what is held goes
// on while whoever takes it is there.
func TestFirstToStopStillHandsOn(t *testing.T) {
	ctx, f, config := context.Background(), NewFactory(), createDefaultConfig()
	sink := new(consumertest.TracesSink)
	traces, err := f.CreateTracesToTraces(ctx, settings(), config, sink)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := f.CreateTracesToMetrics(ctx, settings(), config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	stop := lifecycle(t, metrics, traces) // stops metrics first
	for range 3 {
		if err := traces.ConsumeTraces(ctx, request()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if got := sink.SpanCount(); got != 3 {
		t.Errorf("%d spans went on, want 3", got)
	}
}
