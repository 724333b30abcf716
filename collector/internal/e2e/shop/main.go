// Command shop is a service with otelgc inside that exports its spans, as they are
// or with what the join in process says of them, and writes that to a file: the
// answer that a Collector has to come to from outside. It begins when it can read a
// byte of its standard input, or that ends. It ends well only if all that it had to say
// was taken.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
	"github.com/otelgc/otelgc/stall"
)

type shop struct {
	path      string
	requests  int
	rest      time.Duration
	spin      time.Duration
	exact     bool
	decorated bool
	last      bool
}

func main() {
	var s shop
	flag.StringVar(&s.path, "answers", "", "the `file` for what the join in process says, one JSON document per span")
	flag.IntVar(&s.requests, "requests", 500, "spans to make")
	// Some 45 collections a second: of more than 100 that are sent at a time the shortest have
	// no event, and a slow machine sends those of two seconds at a time.
	flag.DurationVar(&s.rest, "rest", 10*time.Millisecond, "how long each of them waits")
	flag.DurationVar(&s.spin, "spin", 0, "how long each of them computes, by the clock")
	flag.BoolVar(&s.exact, "exact", false, "watch in exact fidelity, not per cycle")
	flag.BoolVar(&s.decorated, "decorated", false, "export spans with what the join says")
	flag.BoolVar(&s.last, "last", false, "export spans after all else was taken, when standard input ends")
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
	p, err := newProviders(ctx, s)
	if err != nil {
		return err
	}
	// Per cycle a join from outside can say all that one inside can.
	budget := 0.0
	if s.exact {
		budget = 1
	}
	m, err := otelgc.Start(otelgc.WithExactBudget(budget), otelgc.WithMeterProvider(p.meters), otelgc.WithLoggerProvider(p.loggers))
	if err != nil {
		return err
	}
	record := &recorder{out: json.NewEncoder(answers)}
	o := []sdktrace.TracerProviderOption{sdktrace.WithResource(p.resource)}
	if s.decorated {
		record.next = p.spans
	} else {
		o = append(o, sdktrace.WithSpanProcessor(p.spans))
	}
	tracers := sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(spans.NewProcessor(m, record)))...)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.work(tracers.Tracer("shop"))
	runtime.GC() // one that is under way when the watch ends is known in part
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.last {
		clock, err := stall.NewClock()
		if err != nil {
			return err
		}
		worked := clock.Now()
		if err := errors.Join(m.Shutdown(limit), p.loggers.ForceFlush(limit)); err != nil {
			return err
		}
		fmt.Println("told all until", int64(worked))
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
	}
	return errors.Join(tracers.Shutdown(limit), m.Shutdown(limit), p.shutdown(limit))
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
		for end := time.Now().Add(s.spin); time.Now().Before(end); {
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
