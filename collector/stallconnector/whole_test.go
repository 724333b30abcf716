package stallconnector

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadata"
	"github.com/otelgc/otelgc/semconv"
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
	t.Cleanup(func() { w.checkNames(t) })
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
		r.Attributes().PutStr(semconv.AttrBootID, "boot")
		r.Attributes().PutInt(semconv.AttrProcessPID, 7)
		r.Attributes().PutStr(semconv.AttrSource, stall.GCWatch.String())
		return r.Attributes()
	}
	m := add(semconv.EventCollection)
	m.PutEmptySlice(semconv.AttrPauseStart).AppendEmpty().SetInt(1e9 + 10e6)
	m.PutEmptySlice(semconv.AttrPauseEnd).AppendEmpty().SetInt(1e9 + 13e6)
	m = add(semconv.EventSourceStatus)
	m.PutInt(semconv.AttrEnd, 2e9)
	m.PutInt(semconv.AttrWatermark, 2e9)
	m.PutInt(semconv.AttrWallOffset, now-1e9)
	return ld
}

// request is a server span of 20 ms.
func request() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(semconv.AttrBootID, "boot")
	rs.Resource().Attributes().PutInt(semconv.AttrProcessPID, 7)
	rs.Resource().Attributes().PutStr("service.name", "shop")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(pcommon.Timestamp(now))
	s.SetEndTimestamp(pcommon.Timestamp(now + 20e6))
	return td
}
