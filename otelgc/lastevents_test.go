package otelgc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// unhurriedEvents is a processor of logs that takes its time, as one without a queue
// does that exports.
type unhurriedEvents struct{ recorder }

func (p *unhurriedEvents) OnEmit(ctx context.Context, r *sdklog.Record) error {
	time.Sleep(5 * time.Millisecond)
	return p.recorder.OnEmit(ctx, r)
}

// TestLastEvents: a provider of loggers that is well has all events, though it be slow
// and Shutdown's context have no time for anything; but it does not take the time of
// what comes after it.
func TestLastEvents(t *testing.T) {
	for name, c := range map[string]struct {
		within      time.Duration
		sent, taken int
	}{
		"enough time":     {30 * time.Second, 400, 400},
		"some time":       {3*callPatience + lastExport, 400, 200},
		"no time":         {-1, 150, 150},
		"no time at all":  {-1, 400, 200},
		"without any end": {0, 400, 400},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &unhurriedEvents{}
				tel, err := telemetry.New(telemetry.Options{
					Logger:   sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger(""),
					Detached: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				m := &Monitor{tel: output{Telemetry: tel}}
				for range c.sent {
					m.tel.Status(semconv.Status{Origin: stall.GoTrace})
				}
				ctx, cancel := context.WithCancel(context.Background())
				if c.within != 0 {
					ctx, cancel = context.WithTimeout(ctx, c.within)
				}
				defer cancel()
				m.finishEvents(ctx)
				synctest.Wait()
				if n := len(p.of(semconv.EventSourceStatus)); n < c.taken || n > c.taken+1 {
					t.Errorf("%d events were taken, want %d", n, c.taken)
				}
			})
		})
	}
}

// TestLastCalls: functions that take what is queued for them have it, and nothing is
// counted, though Shutdown's context have no time.
func TestLastCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queued = 5
		reader := &sums{sdkmetric.NewManualReader()}
		tel, err := telemetry.New(telemetry.Options{
			Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader.reader)).Meter(""),
		})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		m := &Monitor{tel: output{Telemetry: tel}, hooks: hooks{pause: pauseHook{call: func(gc.Collection) {
			time.Sleep(callPatience / (2 * queued))
			calls++
		}}}}
		m.hooks.pause.start(newOperator())
		for range queued {
			m.hooks.pause.queue <- gc.Collection{}
		}
		over, cancel := context.WithCancel(context.Background())
		cancel()
		m.finishCalls(over)
		synctest.Wait()
		if by := reader.by(t, semconv.MetricDropped, semconv.AttrErrorType); calls != queued || by["shutdown"] != 0 {
			t.Errorf("%d calls, and dropped: %v, want all %d", calls, by, queued)
		}
	})
}

// TestLastErrors: what the handler of errors is not told any more is counted.
func TestLastErrors(t *testing.T) {
	in, goOn := make(chan struct{}, 1), make(chan struct{})
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
		in <- struct{}{}
		<-goOn
	}))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	metrics, meters := newSums()
	m := startTest(t, WithExactBudget(0), meters)
	t.Cleanup(func() { close(goOn) })
	m.operator.report(errors.New("first"))
	<-in
	for range 2 {
		m.operator.report(errors.New("more"))
	}
	shutdown(t, m)
	if by := metrics.by(t, semconv.MetricDropped, semconv.AttrErrorType); by["shutdown"] != 3 {
		t.Errorf("dropped: %v, want 3 by the shutdown", by)
	}
}
