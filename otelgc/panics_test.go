package otelgc

import (
	"context"
	"errors"
	"log"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// panickingMeters is a provider that panics when it is to export.
type panickingMeters struct{ metric.MeterProvider }

func (panickingMeters) ForceFlush(context.Context) error { panic("the program's own") }

// TestProgramPanics where it is called on a goroutine of ours, above which nobody
// could stop that: it is not the program's end.
func TestProgramPanics(t *testing.T) {
	m := startTest(t, WithExactBudget(0), WithMeterProvider(panickingMeters{noop.NewMeterProvider()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { panic("the program's own") }))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Print(err) })) })
	m.exact.fail(errors.New("something to be said"))
	shutdown(t, m)
}
