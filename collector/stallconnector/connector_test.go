package stallconnector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/stall"
)

func settings() connector.Settings {
	s := connectortest.NewNopSettings(metadata.Type)
	s.ID = component.NewID(metadata.Type)
	return s
}

// lifecycle starts all, and returns what shuts them down.
func lifecycle(t testing.TB, all ...component.Component) (stop func()) {
	t.Helper()
	for _, c := range all {
		if err := c.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, c := range all {
			if err := c.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}

// whole is a connector with all of its pairs of signals, as in a Collector.
type whole struct {
	traces, metrics, slow connector.Traces
	events                connector.Logs
	toTraces              *consumertest.TracesSink
	toMetrics             *consumertest.MetricsSink
	toLogs                *consumertest.LogsSink
}

func newWhole(t *testing.T, config *Config) (*whole, func()) {
	t.Helper()
	ctx, f := context.Background(), NewFactory()
	w := &whole{toTraces: new(consumertest.TracesSink), toMetrics: new(consumertest.MetricsSink), toLogs: new(consumertest.LogsSink)}
	var errs [4]error
	w.events, errs[0] = f.CreateLogsToTraces(ctx, settings(), config, w.toTraces)
	w.slow, errs[1] = f.CreateTracesToLogs(ctx, settings(), config, w.toLogs)
	w.metrics, errs[2] = f.CreateTracesToMetrics(ctx, settings(), config, w.toMetrics)
	w.traces, errs[3] = f.CreateTracesToTraces(ctx, settings(), config, w.toTraces)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return w, lifecycle(t, w.events, w.slow, w.metrics, w.traces)
}

// spans hands spans to every instance that takes them, as the Collector does.
func (w *whole) spans(t *testing.T, td ptrace.Traces) {
	t.Helper()
	for _, c := range []connector.Traces{w.slow, w.metrics, w.traces} {
		mine := ptrace.NewTraces()
		td.CopyTo(mine)
		if err := c.ConsumeTraces(context.Background(), mine); err != nil {
			t.Fatal(err)
		}
	}
}

const now = int64(1_800_000_000_000_000_000)

// watched is the status of a source, and a pause from 10 to 13 ms.
func watched() plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	add := func(name string) pcommon.Map {
		r := records.AppendEmpty()
		r.SetEventName(name)
		r.Attributes().PutStr(stall.AttrBootID, "boot")
		r.Attributes().PutInt(stall.AttrProcessPID, 7)
		r.Attributes().PutStr(stall.AttrSource, stall.GCWatch.String())
		return r.Attributes()
	}
	m := add(stall.EventCollection)
	m.PutEmptySlice(stall.AttrPauseStart).AppendEmpty().SetInt(1e9 + 10e6)
	m.PutEmptySlice(stall.AttrPauseEnd).AppendEmpty().SetInt(1e9 + 13e6)
	m = add(stall.EventSourceStatus)
	m.PutInt(stall.AttrEnd, 2e9)
	m.PutInt(stall.AttrWatermark, 2e9)
	m.PutInt(stall.AttrWallOffset, now-1e9)
	return ld
}

// request is a server span of 20 ms.
func request() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(stall.AttrBootID, "boot")
	rs.Resource().Attributes().PutInt(stall.AttrProcessPID, 7)
	rs.Resource().Attributes().PutStr("service.name", "shop")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(pcommon.Timestamp(now))
	s.SetEndTimestamp(pcommon.Timestamp(now + 20e6))
	return td
}

// TestWhole: each span leaves once, with its charges; it counts once; and a slow
// one is told once.
func TestWhole(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.SlowSpan = 10 * time.Millisecond
	w, stop := newWhole(t, config)
	w.spans(t, request())
	if err := w.events.ConsumeLogs(context.Background(), watched()); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if w.toTraces.SpanCount() > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if got := w.toTraces.SpanCount(); got != 1 {
		t.Fatalf("got %d spans, want 1", got)
	}
	m := w.toTraces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	if v, _ := m.Get("otelgc.stall.gc.pause"); v.Double() != 3e-3 {
		t.Errorf("gc.pause: got %v s, want 0.003", v.Double())
	}
	if got := w.toLogs.LogRecordCount(); got != 1 {
		t.Errorf("got %d events of slow spans, want 1", got)
	}
	all := w.toMetrics.AllMetrics()
	if len(all) == 0 {
		t.Fatal("no metrics")
	}
	metrics := all[len(all)-1].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	for _, m := range metrics.All() {
		if m.Name() == stall.MetricRequests {
			if got := m.Sum().DataPoints().At(0).IntValue(); got != 1 {
				t.Errorf("requests: got %d, want 1", got)
			}
		}
	}
}

// TestShutdownLosesNothing: what is held goes on when the connector stops.
func TestShutdownLosesNothing(t *testing.T) {
	w, stop := newWhole(t, createDefaultConfig().(*Config))
	for range 100 {
		w.spans(t, request())
	}
	stop()
	if got := w.toTraces.SpanCount(); got != 100 {
		t.Errorf("got %d spans, want 100", got)
	}
}

// TestConcurrent: senders of both signals at once, for the race detector.
func TestConcurrent(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.Wait, config.MetricsInterval = 10*time.Millisecond, 10*time.Millisecond
	w, stop := newWhole(t, config)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				w.spans(t, request())
				_ = w.events.ConsumeLogs(context.Background(), watched())
			}
		})
	}
	wg.Wait()
	stop()
	if got := w.toTraces.SpanCount(); got != 800 {
		t.Errorf("got %d spans, want 800", got)
	}
}

// TestTwoComponents of one factory share nothing.
func TestTwoComponents(t *testing.T) {
	ctx, f, config := context.Background(), NewFactory(), createDefaultConfig()
	one, two := new(consumertest.TracesSink), new(consumertest.TracesSink)
	a, err := f.CreateTracesToTraces(ctx, settings(), config, one)
	if err != nil {
		t.Fatal(err)
	}
	other := settings()
	other.ID = component.NewIDWithName(metadata.Type, "two")
	b, err := f.CreateTracesToTraces(ctx, other, config, two)
	if err != nil {
		t.Fatal(err)
	}
	stop := lifecycle(t, a, b)
	if err := a.ConsumeTraces(ctx, request()); err != nil {
		t.Fatal(err)
	}
	stop()
	if one.SpanCount() != 1 || two.SpanCount() != 0 {
		t.Errorf("got %d and %d spans, want 1 and 0", one.SpanCount(), two.SpanCount())
	}
}
