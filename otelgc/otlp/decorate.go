package otlp

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

// spanQueue is how many spans may wait for their export: they come all at once,
// a second's worth, when the sources have seen that second.
const spanQueue = spans.MaxHeld

// decorator stands before the processor that exports until there is a monitor to
// decorate spans with, which needs the providers first. No span is made before.
type decorator struct{ sdktrace.SpanProcessor }

func (d *decorator) before(exporting sdktrace.SpanProcessor) sdktrace.SpanProcessor {
	d.SpanProcessor = exporting
	return d
}

// start decorates spans from now on.
func (d *decorator) start(m *otelgc.Monitor) {
	if d.SpanProcessor != nil { // otherwise nothing exports spans
		d.SpanProcessor = spans.NewProcessor(m, d.SpanProcessor)
	}
}
