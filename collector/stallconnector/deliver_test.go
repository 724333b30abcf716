package stallconnector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelgc/otelgc/collector/attribution"
	"github.com/otelgc/otelgc/collector/stallconnector/internal/metadatatest"
	"github.com/otelgc/otelgc/stall"
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
	metadatatest.AssertEqualConnectorStallRefused(t, tel, []metricdata.DataPoint[int64]{point(stall.AttrItem, "spans", 2)}, metricdatatest.IgnoreTimestamp())
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
	metadatatest.AssertEqualConnectorStallAbandoned(t, tel, []metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
	stop()
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestDueFor: spans are held for the time that their sender gives, less what it
// takes to hand them on.
func TestDueFor(t *testing.T) {
	now := time.Now()
	for _, x := range []struct{ deadline, wait, want time.Duration }{
		{0, 10 * time.Second, 10 * time.Second},
		{15 * time.Second, 10 * time.Second, 10 * time.Second},
		{10 * time.Second, 10 * time.Second, 8 * time.Second},
		{-time.Second, 10 * time.Second, -800 * time.Millisecond},
	} {
		ctx := context.Background()
		if x.deadline != 0 {
			var cancel func()
			ctx, cancel = context.WithDeadline(ctx, now.Add(x.deadline))
			defer cancel()
		}
		if got := dueFor(ctx, now, x.wait).Sub(now); got != x.want {
			t.Errorf("deadline %v, wait %v: held for %v, want %v", x.deadline, x.wait, got, x.want)
		}
	}
}

// TestWaitOfNothing: a wait of 0s is the default, also for those who wait.
func TestWaitOfNothing(t *testing.T) {
	config := waiting()
	config.Wait = 0
	w, stop := newWhole(t, config)
	defer stop()
	if got, want := w.traces.(*instance).attributor.Wait(), attribution.Default().Wait; got != want {
		t.Errorf("spans are held for %v, want %v", got, want)
	}
}

// TestBetter: an error that may pass is the answer, whichever came first.
func TestBetter(t *testing.T) {
	final, passing := consumererror.NewPermanent(errors.New("no")), errors.New("not now")
	for _, x := range []struct{ a, b, want error }{
		{nil, nil, nil}, {nil, final, final}, {final, nil, final}, {final, passing, passing}, {passing, final, passing}, {passing, nil, passing},
	} {
		if got := better(x.a, x.b); !errors.Is(got, x.want) {
			t.Errorf("of %v and %v: got %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestShutdownReleases: who waits when the connector stops has the spans handed
// on before it has stopped, and an answer.
func TestShutdownReleases(t *testing.T) {
	const senders = 20
	w, stop := newWhole(t, waiting())
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			if err := w.traces.ConsumeTraces(context.Background(), request()); err != nil {
				t.Error(err)
			}
		})
	}
	held(t, w.traces, senders)
	stop()
	if got := w.toTraces.SpanCount(); got != senders {
		t.Errorf("%d spans went on, want %d", got, senders)
	}
	wg.Wait()
}

// TestShutdownWhileTheyCome: senders that still come while the connector stops
// have their spans handed on or an error, and none waits for ever.
func TestShutdownWhileTheyCome(t *testing.T) {
	w, stop := newWhole(t, waiting())
	var wg sync.WaitGroup
	var taken atomic.Int64
	for range 8 {
		wg.Go(func() {
			for w.traces.ConsumeTraces(context.Background(), request()) == nil {
				taken.Add(1)
			}
		})
	}
	held(t, w.traces, 8)
	stop()
	wg.Wait()
	if got := w.toTraces.SpanCount(); int64(got) != taken.Load() || got < 8 {
		t.Errorf("%d spans went on, want the %d of which the senders know, at least 8", got, taken.Load())
	}
}

// TestShutdownGivesUp: who takes spans and never answers does not keep a
// connector from stopping for longer than it is given.
func TestShutdownGivesUp(t *testing.T) {
	entered, answer := make(chan struct{}), make(chan struct{})
	next, err := consumer.NewTraces(func(context.Context, ptrace.Traces) error {
		close(entered)
		<-answer
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := NewFactory().CreateTracesToTraces(context.Background(), settings(), waiting(), next)
	if err != nil {
		t.Fatal(err)
	}
	if err := traces.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan error)
	go func() { sent <- traces.ConsumeTraces(context.Background(), request()) }()
	held(t, traces, 1)
	go func() { <-entered; cancel() }()
	if err := traces.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	close(answer)
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
