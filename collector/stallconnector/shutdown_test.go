package stallconnector

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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

// TestTakenGoesOn: of spans that come while the connector stops, those that it took
// go on, and the others are refused.
func TestTakenGoesOn(t *testing.T) {
	traces, to, stop := beside(t, createDefaultConfig().(*Config), nil, nil)
	var wg sync.WaitGroup
	var taken atomic.Int64
	for range 4 {
		wg.Go(func() {
			for traces.ConsumeTraces(context.Background(), request()) == nil {
				taken.Add(1)
			}
		})
	}
	for taken.Load() < 10 {
		runtime.Gosched()
	}
	stop()
	wg.Wait() // would be for ever
	if got := to.SpanCount(); int64(got) != taken.Load() {
		t.Errorf("%d spans went on, want the %d that were taken", got, taken.Load())
	}
}

// TestAfterShutdown: an instance that has stopped refuses spans, whatever it sent.
func TestAfterShutdown(t *testing.T) {
	w, stop := newWhole(t, createDefaultConfig().(*Config))
	stop()
	for name, c := range map[string]connector.Traces{"traces": w.traces, "metrics": w.metrics, "logs": w.slow} {
		if err := c.ConsumeTraces(context.Background(), request()); !errors.Is(err, errStopped) {
			t.Errorf("to %s: got error %v, want %v", name, err, errStopped)
		}
	}
}
