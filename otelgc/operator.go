package otelgc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"go.opentelemetry.io/otel"
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

// panics counts the panics of the program's functions that are called here, and tells
// the handler of errors of the first of each.
type panics struct {
	m    *Monitor // set before any function is called
	told sync.Map // of their names, which are constants
}

// safely calls a function of the program. Its panic costs one item, counted, and not
// the program.
func (p *panics) safely(item, what string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			p.count(item, what, v)
		}
	}()
	f()
}

// count counts one item that the panic of a function has cost.
func (p *panics) count(item, what string, value any) {
	p.m.tel.Dropped(item, "panic", 1)
	p.tell(what, value)
}

// tell tells of the first panic of a function.
func (p *panics) tell(what string, value any) {
	if _, told := p.told.LoadOrStore(what, true); told {
		return
	}
	p.m.tellOperator(fmt.Errorf("%s panicked: %s: mend it there; from now on its panics are only counted, in otelgc.monitor.dropped", what, short(value)))
}

// maxPanicText bounds what is told of the value of a panic.
const maxPanicText = 200

// short returns what a function panicked with as a short text of one line.
func short(value any) string {
	text := fmt.Sprint(value)
	text = strings.ToValidUTF8(text[:min(len(text), maxPanicText)], "\uFFFD")
	return strings.Join(strings.Fields(text), " ")
}
