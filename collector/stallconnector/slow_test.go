package stallconnector

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// beside is a connector of spans, whose sums or slow spans go to others.
func beside(t *testing.T, config *Config, sums consumer.Metrics, slow consumer.Logs) (traces connector.Traces, to *consumertest.TracesSink, stop func()) {
	t.Helper()
	ctx, f, to := context.Background(), NewFactory(), new(consumertest.TracesSink)
	traces, err := f.CreateTracesToTraces(ctx, settings(), config, to)
	all := []component.Component{traces}
	if sums != nil {
		c, more := f.CreateTracesToMetrics(ctx, settings(), config, sums)
		all, err = append(all, c), errors.Join(err, more)
	}
	if slow != nil {
		c, more := f.CreateTracesToLogs(ctx, settings(), config, slow)
		all, err = append(all, c), errors.Join(err, more)
	}
	if err != nil {
		t.Fatal(err)
	}
	return traces, to, lifecycle(t, all...)
}

// TestBlockedSums: who takes in the sums and does not answer keeps nobody's spans.
func TestBlockedSums(t *testing.T) {
	entered, answer := make(chan struct{}, 1), make(chan struct{})
	sums, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-answer
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := waiting()
	config.Wait, config.MetricsInterval = time.Millisecond, time.Millisecond
	traces, to, stop := beside(t, config, sums, nil)
	if err := traces.ConsumeTraces(context.Background(), request()); err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := traces.ConsumeTraces(context.Background(), request()); err != nil || to.SpanCount() != 2 {
		t.Errorf("error %v, %d spans went on beside an export; want none, and 2", err, to.SpanCount())
	}
	close(answer)
	stop()
}

// TestBlockedSlow: who hears of slow spans and does not answer keeps no spans that
// nobody waits for; it has all that was to be told in the end.
func TestBlockedSlow(t *testing.T) {
	answer, told := make(chan struct{}), 0
	slow, err := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error {
		<-answer
		told += ld.LogRecordCount() // one at a time
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := createDefaultConfig().(*Config)
	config.Wait, config.SlowSpan = time.Millisecond, time.Millisecond
	traces, to, stop := beside(t, config, nil, slow)
	const most = 3
	for n := range most {
		if err := traces.ConsumeTraces(context.Background(), request()); err != nil {
			t.Fatal(err)
		}
		for to.SpanCount() <= n { // would be for ever
			time.Sleep(time.Millisecond)
		}
	}
	held(t, traces, 0)
	close(answer)
	if stop(); told != most {
		t.Errorf("%d slow spans were told, want %d", told, most)
	}
}

// TestTellBound: events that find no room among those that wait are refused.
func TestTellBound(t *testing.T) {
	entered, answer := make(chan struct{}), make(chan struct{})
	slow, err := consumer.NewLogs(func(context.Context, plog.Logs) error {
		entered <- struct{}{}
		<-answer
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	traces, _, stop := beside(t, createDefaultConfig().(*Config), nil, slow)
	i := traces.(*instance).first(outputs.takesEvents)
	queue := func(bytes int, want error) {
		t.Helper()
		if err := i.enqueue(queuedEvents{plog.NewLogs(), bytes}); !errors.Is(err, want) {
			t.Errorf("%d bytes more: got error %v, want %v", bytes, err, want)
		}
	}
	queue(maxQueued-1, nil)
	<-entered
	queue(2, errSlow)
	queue(1, nil)
	answer <- struct{}{}
	<-entered // the one of a byte
	queue(maxQueued, errSlow)
	queue(maxQueued-1, nil)
	answer <- struct{}{}
	<-entered
	close(answer)
	stop()
	queue(0, errStopped)
}

// TestTellNow: a sender that waits has its answer in time, whoever hears of its slow
// spans: they were taken.
func TestTellNow(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var given time.Time
	slow, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		given, _ = ctx.Deadline()
		return context.DeadlineExceeded
	})
	if err != nil {
		t.Fatal(err)
	}
	config := waiting()
	config.Wait, config.SlowSpan = time.Millisecond, time.Millisecond
	traces, _, stop := beside(t, config, nil, slow)
	defer stop()
	if err := traces.ConsumeTraces(ctx, request()); err != nil {
		t.Errorf("got error %v, want none: the spans were taken", err)
	}
	if deadline, _ := ctx.Deadline(); given.IsZero() || deadline.Sub(given) < time.Minute {
		t.Errorf("slow spans may be told until %v, want well before the %v of the sender", given, deadline)
	}
}
