package otelgc

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// operatorRoom is how many errors may wait for the handler of errors.
const operatorRoom = 16

// tellOperator tells the program's handler of errors. Whoever has the error may hold
// the tracer, and waits for no handler.
func (m *Monitor) tellOperator(err error) {
	if !m.operator.Put(func(context.Context) {
		defer func() {
			if recover() != nil { // there is nobody else to tell
				m.tel.Dropped("error", "panic", 1)
			}
		}()
		otel.Handle(fmt.Errorf("otelgc: %w", err))
	}) {
		m.tel.Dropped("error", "queue_full", 1)
	}
}

// tellWithout tells what the monitor does without, for the errors that are not nil:
// the boot id, and exact fidelity.
func (m *Monitor) tellWithout(bootID, exact error) {
	if bootID != nil && !errors.Is(bootID, stall.ErrNotSupported) {
		m.tellOperator(fmt.Errorf("events and spans have no %s, and nobody joins them with what others tell of this machine: %w", semconv.AttrBootID, bootID))
	}
	if exact != nil {
		m.tellOperator(fmt.Errorf("exact fidelity is off: %w", exact))
	}
}
