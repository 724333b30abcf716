package otelgc

import (
	"context"
	"errors"
	"runtime"
	"testing"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelgc/otelgc/semconv"
)

// hangingEvents is a processor of logs that waits until it may go on.
type hangingEvents struct {
	recorder
	in, goOn chan struct{}
}

func (p *hangingEvents) OnEmit(context.Context, *sdklog.Record) error {
	select {
	case p.in <- struct{}{}:
	default:
	}
	<-p.goOn
	return nil
}

// TestHangingLoggerProvider: windows and collections are settled while a processor
// of the program's hangs, and Shutdown has an end without one of its context's.
func TestHangingLoggerProvider(t *testing.T) {
	var s shares
	p := &hangingEvents{in: make(chan struct{}, 1), goOn: make(chan struct{})}
	metrics, meters := newSums()
	m := startTest(t, WithExactBudget(0), meters, WithOnWindow(s.add),
		WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(p))))
	t.Cleanup(func() { close(p.goOn) }) // before the goroutines are counted
	<-p.in
	w := m.Begin(context.Background())
	runtime.GC()
	w.End()
	flush(t, m)
	if len(s.all) != 1 {
		t.Errorf("%d windows were settled, want 1", len(s.all))
	}
	if list, _ := m.Collections(0); len(list) == 0 {
		t.Error("no collection was settled")
	}
	if err := m.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if by := metrics.by(t, semconv.MetricDropped, semconv.AttrErrorType); by["shutdown"] == 0 {
		t.Errorf("what the processor was not given is not counted: %v", by)
	}
}

// TestHangingErrorHandler: nor does the program's handler of errors hold up anybody.
func TestHangingErrorHandler(t *testing.T) {
	in, goOn := make(chan error, 1), make(chan struct{})
	handleErrors(t, func(err error) {
		in <- err
		<-goOn
	})
	m := startTest(t, WithExactBudget(0))
	t.Cleanup(func() { close(goOn) })
	m.machine.board.Fail(errors.New("first"))
	if got := (<-in).Error(); got != "otelgc: first" {
		t.Errorf("the handler was told %q", got)
	}
	for range 2 * operatorRoom {
		m.machine.board.Fail(errors.New("more"))
	}
	if err := m.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
