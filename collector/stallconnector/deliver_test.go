package stallconnector

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadatatest"
	"github.com/otelgc/otelgc/semconv"
)

// waiting is a configuration with which senders wait, for as long as it can be.
func waiting() *Config {
	config := createDefaultConfig().(*Config)
	config.Wait, config.WaitForResult = 5*time.Minute, true
	return config
}

// held waits until so many spans are.
func held(t *testing.T, c connector.Traces, want int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		n, _ := c.(*instance).attributor.Held()
		if n == want {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d spans held, want %d", n, want)
		}
	}
}

// TestWaitForResult: who sends spans has an answer when they were handed on, with
// their charges, and not before.
func TestWaitForResult(t *testing.T) {
	config := waiting()
	config.SlowSpan = 10 * time.Millisecond
	w, stop := newWhole(t, config)
	defer stop()
	answer := make(chan error)
	go func() { answer <- w.traces.ConsumeTraces(context.Background(), request()) }()
	held(t, w.traces, 1)
	select {
	case err := <-answer:
		t.Fatalf("answer %v, and the spans are held", err)
	default:
	}
	if err := w.events.ConsumeLogs(context.Background(), watched()); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
	if got := w.toTraces.SpanCount(); got != 1 {
		t.Fatalf("%d spans came before the answer, want 1", got)
	}
	m := w.toTraces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	if v, _ := m.Get("otelgc.stall.gc.pause"); v.Double() != 3e-3 {
		t.Errorf("gc.pause: got %v s, want 0.003", v.Double())
	}
	if got := w.toLogs.LogRecordCount(); got != 1 {
		t.Errorf("%d events of slow spans came before the answer, want 1", got)
	}
	// The instances that hand on no spans hold none.
	for _, c := range []connector.Traces{w.slow, w.metrics} {
		if err := c.ConsumeTraces(context.Background(), request()); err != nil {
			t.Error(err)
		}
	}
}

// refusing refuses so many batches, and then takes all.
type refusing struct {
	consumertest.TracesSink
	refuse atomic.Int32
	err    error
}

func (r *refusing) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	if r.refuse.Add(-1) >= 0 {
		return r.err
	}
	return r.TracesSink.ConsumeTraces(ctx, td)
}

// TestResult: an error of who comes next is the sender's; what it sends again
// counts and is told once, when it was taken.
func TestResult(t *testing.T) {
	ctx, f, tel := context.Background(), NewFactory(), componenttest.NewTelemetry()
	next, sums, slow := &refusing{err: errors.New("queue is full")}, new(consumertest.MetricsSink), new(consumertest.LogsSink)
	next.refuse.Store(2)
	settings, config := metadatatest.NewSettings(tel), waiting()
	config.SlowSpan = 10 * time.Millisecond
	traces, err1 := f.CreateTracesToTraces(ctx, settings, config, next)
	metrics, err2 := f.CreateTracesToMetrics(ctx, settings, config, sums)
	events, err3 := f.CreateLogsToTraces(ctx, settings, config, consumertest.NewNop())
	logs, err4 := f.CreateTracesToLogs(ctx, settings, config, slow)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	stopTraces, stop := lifecycle(t, traces), lifecycle(t, metrics, logs, events)
	if err := events.ConsumeLogs(ctx, watched()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := traces.ConsumeTraces(ctx, request()); !errors.Is(err, next.err) {
			t.Errorf("got error %v, want %v", err, next.err)
		}
	}
	if err := traces.ConsumeTraces(ctx, request()); err != nil {
		t.Error(err)
	}
	metadatatest.AssertEqualConnectorStallRefused(t, tel, []metricdata.DataPoint[int64]{point(semconv.AttrItem, "spans", 2)}, metricdatatest.IgnoreTimestamp())
	stopTraces()
	if err := traces.ConsumeTraces(ctx, request()); !errors.Is(err, errStopped) {
		t.Errorf("after all: got error %v, want %v", err, errStopped)
	}
	stop()
	all := sums.AllMetrics()
	if got := requests(t, all[len(all)-1]).IntValue(); got != 1 || next.SpanCount() != 1 || slow.LogRecordCount() != 1 {
		t.Errorf("%d requests, %d spans, %d of them slow; want 1 of each", got, next.SpanCount(), slow.LogRecordCount())
	}
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// TestSenderGone: spans whose sender does not wait go on at once, all the same.
func TestSenderGone(t *testing.T) {
	tel, spans := componenttest.NewTelemetry(), 0
	next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		spans += td.SpanCount()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := NewFactory().CreateTracesToTraces(context.Background(), metadatatest.NewSettings(tel), waiting(), next)
	if err != nil {
		t.Fatal(err)
	}
	stop := lifecycle(t, traces)
	ctx, cancel := context.WithCancel(context.Background())
	answer := make(chan error)
	go func() { answer <- traces.ConsumeTraces(ctx, request()) }()
	held(t, traces, 1)
	cancel()
	if err := <-answer; err != nil || spans != 1 {
		t.Errorf("error %v, %d spans went on; want none, and 1", err, spans)
	}
	metadatatest.AssertEqualConnectorStallAbandoned(t, tel, []metricdata.DataPoint[int64]{own(1)}, metricdatatest.IgnoreTimestamp())
	stop()
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
