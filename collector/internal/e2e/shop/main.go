// Command shop is a service with otelgc inside that exports its spans as they
// are, and writes to a file what the join in process says of the same spans: the
// answer that a Collector has to come to from outside.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
	"github.com/otelgc/otelgc/otelgc/spans"
)

func main() {
	path := flag.String("answers", "", "the `file` for what the join in process says, one JSON document per span")
	requests := flag.Int("requests", 500, "spans to make")
	flag.Parse()
	if err := run(context.Background(), *path, *requests); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, requests int) (err error) {
	answers, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answers.Close()) }()
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return err
	}
	// Cycle fidelity: there a join from outside can say all that one inside can.
	m, shutdown, err := otlp.Start(ctx, otelgc.WithExactBudget(0))
	if err != nil {
		return err
	}
	res, err := resource.New(ctx, resource.WithFromEnv(), resource.WithDetectors(otlp.Detector()))
	if err != nil {
		return err
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter),
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, &recorder{json.NewEncoder(answers)})))
	work(tracers.Tracer("shop"), requests)
	limit, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(tracers.Shutdown(limit), shutdown(limit))
}

// kept is what survives the collections.
var kept [64][]byte

// work makes one span after another, with garbage in each.
func work(tracer trace.Tracer, requests int) {
	for i := range requests {
		_, span := tracer.Start(context.Background(), "order", trace.WithSpanKind(trace.SpanKindServer))
		for k := range 200 {
			kept[(i+k)%len(kept)] = make([]byte, 16<<10)
		}
		time.Sleep(5 * time.Millisecond)
		span.End()
	}
}

// recorder writes the charges of each span.
type recorder struct{ out *json.Encoder }

// Answer is what the join in process says of one span.
type answer struct {
	Span   string             `json:"span"`
	Shares map[string]float64 `json:"shares"`
}

func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan) {
	a := answer{Span: s.SpanContext().SpanID().String(), Shares: map[string]float64{}}
	for _, kv := range s.Attributes() {
		if v, ok := kv.Value.AsInterface().(float64); ok {
			a.Shares[string(kv.Key)] = v
		}
	}
	_ = r.out.Encode(a)
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) Shutdown(context.Context) error                  { return nil }
func (r *recorder) ForceFlush(context.Context) error                { return nil }
