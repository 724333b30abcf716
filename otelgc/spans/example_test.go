package spans_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

// The processor stands before the one that exports. Nothing changes where the
// spans are made.
func ExampleNewProcessor() {
	m, err := otelgc.Start(otelgc.WithExactBudget(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, sdktrace.NewBatchSpanProcessor(exporter))),
	)
	_, span := tracers.Tracer("example").Start(context.Background(), "work")
	span.End()
	_ = tracers.ForceFlush(context.Background())
	for _, s := range exporter.GetSpans() {
		for _, kv := range s.Attributes {
			if kv.Key == "otelgc.gc.overlap" || kv.Key == "otelgc.fidelity" {
				fmt.Println(s.Name, kv.Key, kv.Value.AsString())
			}
		}
	}
	_ = tracers.Shutdown(context.Background())
	// Output:
	// work otelgc.gc.overlap none
	// work otelgc.fidelity cycle
}
