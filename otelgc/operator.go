package otelgc

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
)

// operatorRoom is how many errors may wait for the handler of errors.
const operatorRoom = 16

// tellOperator tells the program's handler of errors. Whoever has the error may hold
// the tracer, and waits for no handler.
func (m *Monitor) tellOperator(err error) {
	if !m.operator.Put(func(context.Context) { otel.Handle(fmt.Errorf("otelgc: %w", err)) }) {
		m.tel.Dropped("error", "queue_full", 1, 0)
	}
}
