package otelgc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"go.opentelemetry.io/otel"
)

// operatorRoom is how many errors may wait for the handler of errors.
const operatorRoom = 16

// operator is told of errors by the program's handler of errors (otel.Handle), and of
// the first panic of each of the program's functions that are called here.
type operator struct {
	out      *telemetry.Outbox
	dropped  func(item, why string, n uint64) // counts what was lost; set before the first report
	panicked sync.Map                         // names of functions, which are constants
}

func newOperator() *operator {
	return &operator{out: telemetry.NewOutbox(operatorRoom)}
}

// report has the handler of errors called with err. It does not wait for that: its
// caller may hold the tracer.
func (o *operator) report(err error) {
	if !o.out.Put(func(context.Context) {
		defer func() {
			if recover() != nil { // the handler was the last to report to
				o.dropped("error", "panic", 1)
			}
		}()
		otel.Handle(fmt.Errorf("otelgc: %w", err))
	}) {
		o.dropped("error", "queue_full", 1)
	}
}

// without reports what the monitor does without, for the errors that are not nil: the
// boot id, and exact fidelity.
func (o *operator) without(bootID, exact error) {
	if bootID != nil && !errors.Is(bootID, stall.ErrNotSupported) {
		o.report(fmt.Errorf("events and spans have no %s, and cannot be joined with what others report of this machine: %w", semconv.AttrBootID, bootID))
	}
	if exact != nil {
		o.report(fmt.Errorf("exact fidelity is off: %w", exact))
	}
}

// safely calls a function of the program. Its panic costs one item, counted, and not
// the program.
func (o *operator) safely(item, what string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			o.count(item, what, v)
		}
	}()
	f()
}

// count counts one item that the panic of a function has cost.
func (o *operator) count(item, what string, value any) {
	o.dropped(item, "panic", 1)
	o.reportPanic(what, value)
}

// reportPanic reports the first panic of a function.
func (o *operator) reportPanic(what string, value any) {
	if _, again := o.panicked.LoadOrStore(what, true); again {
		return
	}
	o.report(fmt.Errorf("%s panicked: %s: mend it there; from now on its panics are only counted, in otelgc.monitor.dropped", what, short(value)))
}

// maxPanicText bounds what is reported of the value of a panic.
const maxPanicText = 200

// short returns what a function panicked with as a short text of one line.
func short(value any) string {
	text := fmt.Sprint(value)
	text = strings.ToValidUTF8(text[:min(len(text), maxPanicText)], "\uFFFD")
	return strings.Join(strings.Fields(text), " ")
}
