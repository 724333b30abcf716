package stallconnector

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestShutdownOfTheBlocked: who takes spans of a Tick and never answers, whatever its
// context says, keeps a connector from stopping for no longer than it is given.
func TestShutdownOfTheBlocked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	entered, told, answer := make(chan struct{}), make(chan struct{}), make(chan struct{})
	next, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
		close(entered)
		<-ctx.Done()
		close(told)
		<-answer
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := createDefaultConfig().(*Config)
	config.Wait = time.Millisecond
	traces, err := NewFactory().CreateTracesToTraces(ctx, settings(), config, next)
	if err != nil {
		t.Fatal(err)
	}
	lifecycle(t, traces)
	if err := traces.ConsumeTraces(ctx, request()); err != nil {
		t.Fatal(err)
	}
	<-entered
	cancel()
	if err := traces.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	<-told // whoever asks its context is free
	close(answer)
}

// TestShutdownWaitsForExport: when an instance has stopped nothing is under way to
// whoever stands behind it, and nothing comes any more.
func TestShutdownWaitsForExport(t *testing.T) {
	ctx, f := context.Background(), NewFactory()
	entered, answer := make(chan struct{}), make(chan struct{})
	sends, under := 0, 0 // one at a time
	next, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error {
		if sends++; sends == 1 {
			under++
			close(entered)
			<-answer
			under--
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := createDefaultConfig().(*Config)
	config.Wait, config.MetricsInterval = time.Millisecond, time.Millisecond
	traces, err1 := f.CreateTracesToTraces(ctx, settings(), config, new(consumertest.TracesSink))
	metrics, err2 := f.CreateTracesToMetrics(ctx, settings(), config, next)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	stop, stopTraces := lifecycle(t, metrics), lifecycle(t, traces)
	if err := traces.ConsumeTraces(ctx, request()); err != nil {
		t.Fatal(err)
	}
	<-entered
	time.AfterFunc(10*time.Millisecond, func() { close(answer) })
	if stop(); under != 0 || sends < 2 {
		t.Errorf("%d exports under way and %d of all begun when the instance had stopped, want none, and the last sums", under, sends)
	}
	after := sends
	stopTraces()
	if sends != after {
		t.Errorf("%d exports after the instance had stopped, want none", sends-after)
	}
}
