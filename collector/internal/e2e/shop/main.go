// Command shop is a service with otelgc inside that exports its spans, as they are
// or with what the join in process says of them, and writes that to a file: the
// answer that a Collector has to come to from outside. It begins when its standard
// input ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

type shop struct {
	path      string
	requests  int
	rest      time.Duration
	exact     bool
	decorated bool
}

func main() {
	var s shop
	flag.StringVar(&s.path, "answers", "", "the `file` for what the join in process says, one JSON document per span")
	flag.IntVar(&s.requests, "requests", 500, "spans to make")
	flag.DurationVar(&s.rest, "rest", 5*time.Millisecond, "how long each of them waits")
	flag.BoolVar(&s.exact, "exact", false, "watch in exact fidelity, not per cycle")
	flag.BoolVar(&s.decorated, "decorated", false, "export spans with what the join says")
	flag.Parse()
	if err := s.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func (s *shop) run(ctx context.Context) (err error) {
	answers, err := os.Create(s.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answers.Close()) }()
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return err
	}
	// Per cycle a join from outside can say all that one inside can.
	budget := 0.0
	if s.exact {
		budget = 1
	}
	m, shutdown, err := otlp.Start(ctx, otelgc.WithExactBudget(budget))
	if err != nil {
		return err
	}
	res, err := resource.New(ctx, resource.WithFromEnv(), resource.WithDetectors(otlp.Detector()))
	if err != nil {
		return err
	}
	export := sdktrace.NewBatchSpanProcessor(exporter, sdktrace.WithBlocking())
	record := &recorder{out: json.NewEncoder(answers)}
	o := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	if s.decorated {
		record.next = export
	} else {
		o = append(o, sdktrace.WithSpanProcessor(export))
	}
	tracers := sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(spans.NewProcessor(m, record)))...)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	s.work(tracers.Tracer("shop"))
	limit, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(tracers.Shutdown(limit), shutdown(limit))
}

// kept is what survives the collections.
var kept [64][]byte

// work makes one span after another, with garbage in each.
func (s *shop) work(tracer trace.Tracer) {
	for i := range s.requests {
		_, span := tracer.Start(context.Background(), "order", trace.WithSpanKind(trace.SpanKindServer))
		for k := range 200 {
			kept[(i+k)%len(kept)] = make([]byte, 16<<10)
		}
		time.Sleep(s.rest)
		span.End()
	}
}

// recorder writes down what each span carries, and hands it on.
type recorder struct {
	out  *json.Encoder
	next sdktrace.SpanProcessor // nil for none
}

// answer is what the join in process says of one span.
type answer struct {
	Span   string             `json:"span"`
	Shares map[string]float64 `json:"shares"`
	Words  map[string]string  `json:"words"`
}

func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan) {
	a := answer{s.SpanContext().SpanID().String(), map[string]float64{}, map[string]string{}}
	for _, kv := range s.Attributes() {
		switch v := kv.Value.AsInterface().(type) {
		case float64:
			a.Shares[string(kv.Key)] = v
		case string:
			a.Words[string(kv.Key)] = v
		}
	}
	_ = r.out.Encode(a)
	if r.next != nil {
		r.next.OnEnd(s)
	}
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (r *recorder) Shutdown(ctx context.Context) error {
	if r.next == nil {
		return nil
	}
	return r.next.Shutdown(ctx)
}

func (r *recorder) ForceFlush(ctx context.Context) error {
	if r.next == nil {
		return nil
	}
	return r.next.ForceFlush(ctx)
}
