package stallconnector

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadatatest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestTelemetry: what the connector could not do is in its own metrics, by why.
func TestTelemetry(t *testing.T) {
	ctx, tel := context.Background(), componenttest.NewTelemetry()
	config := createDefaultConfig().(*Config)
	config.MaxSpans = 1
	f, settings := NewFactory(), metadatatest.NewSettings(tel)
	traces, err := f.CreateTracesToTraces(ctx, settings, config, consumertest.NewErr(context.Canceled))
	if err != nil {
		t.Fatal(err)
	}
	events, err := f.CreateLogsToTraces(ctx, settings, config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	stopTraces, stop := lifecycle(t, traces), lifecycle(t, events)
	apart := watched() // by the wall clock of another process of the machine
	for _, r := range apart.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		r.Attributes().PutInt(semconv.AttrProcessPID, 99)
		r.Attributes().PutInt(semconv.AttrWallOffset, 1e9)
	}
	nobody := watched() // an event of nobody
	nobody.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Remove(semconv.AttrBootID)
	traced := watched() // a request of a process with otelgc in it
	records := traced.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	r := records.At(0)
	records.RemoveIf(func(r plog.LogRecord) bool { return r.EventName() == semconv.EventSourceStatus })
	r.SetEventName(semconv.EventTraced)
	r.Attributes().PutInt(semconv.AttrStart, 1e9)
	r.Attributes().PutInt(semconv.AttrEnd, 2e9)
	r.Attributes().PutStr(semconv.AttrSource, stall.GoTrace.String())
	r.Attributes().PutStr(semconv.AttrFidelity, stall.Exact.String())
	for _, ld := range []plog.Logs{watched(), watched(), nobody, apart, traced} {
		if err := events.ConsumeLogs(ctx, ld); err != nil {
			t.Fatal(err)
		}
	}
	other := request()
	other.ResourceSpans().At(0).Resource().Attributes().PutInt(semconv.AttrProcessPID, 8)
	impossible := other.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	impossible.PutStr(semconv.AttrFidelity, stall.Exact.String())
	impossible.PutDouble(semconv.AttrStallPrefix+"app", 600_000)
	for _, td := range []ptrace.Traces{other, request()} {
		if err := traces.ConsumeTraces(ctx, td); err != nil {
			t.Fatal(err)
		}
	}
	at := metricdatatest.IgnoreTimestamp()
	metadatatest.AssertEqualConnectorStallHeldSpans(t, tel, []metricdata.DataPoint[int64]{own(1)}, at)
	metadatatest.AssertEqualConnectorStallHeldBytes(t, tel, []metricdata.DataPoint[int64]{own(0)}, at, metricdatatest.IgnoreValue())
	metadatatest.AssertEqualConnectorStallEventsDropped(t, tel, []metricdata.DataPoint[int64]{
		point(semconv.AttrErrorType, "duplicate", 1), point(semconv.AttrErrorType, "no_identity", 1),
		point(semconv.AttrErrorType, "conflict", 1),
	}, at)
	metadatatest.AssertEqualConnectorStallClockDisagreements(t, tel, []metricdata.DataPoint[int64]{own(1)}, at)
	metadatatest.AssertEqualConnectorStallForgotten(t, tel, []metricdata.DataPoint[int64]{
		point(semconv.AttrItem, "host", 0), point(semconv.AttrItem, "process", 0),
		point(semconv.AttrItem, "service", 0),
	}, at)
	metadatatest.AssertEqualConnectorStallTracedRequests(t, tel, []metricdata.DataPoint[int64]{
		own(0), point(semconv.AttrErrorType, "ambiguous", 0), point(semconv.AttrErrorType, "unmatched", 0),
		point(semconv.AttrErrorType, "limit", 0),
	}, at)
	stopTraces()
	metadatatest.AssertEqualConnectorStallSpansUnattributed(t, tel, []metricdata.DataPoint[int64]{
		point(semconv.AttrErrorType, "limit", 1), point(semconv.AttrErrorType, "timeout", 0),
		point(semconv.AttrErrorType, "unknown", 1), point(semconv.AttrErrorType, "ambiguous", 0),
		point(semconv.AttrErrorType, "disbelieved", 1), point(semconv.AttrErrorType, "time", 0),
	}, at)
	// The one over the limit, and the one that was held.
	metadatatest.AssertEqualConnectorStallRefused(t, tel, []metricdata.DataPoint[int64]{point(semconv.AttrItem, "spans", 2)}, at)
	stop()
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// point is one of the connector stall's, and of an attribute.
func point(key, value string, n int64) metricdata.DataPoint[int64] {
	p := own(n)
	p.Attributes = attribute.NewSet(append(p.Attributes.ToSlice(), attribute.String(key, value))...)
	return p
}

func own(n int64) metricdata.DataPoint[int64] {
	return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String(componentID, "stall")), Value: n}
}
