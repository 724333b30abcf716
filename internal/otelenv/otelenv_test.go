package otelenv

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) {
	// Dead Collectors are the subject here, not news.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	noleak.Main(m)
}

func start(t *testing.T, o Options) *Providers {
	t.Helper()
	p, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Spans != nil {
		p.Tracer.RegisterSpanProcessor(p.Spans)
	}
	return p
}

func emit(p *Providers, n int) {
	logger := p.Logger.Logger("test")
	for range n {
		var r log.Record
		r.SetEventName("otelgc.jitter.gap")
		logger.Emit(context.Background(), r)
	}
}

func TestExport(t *testing.T) {
	for protocol, receiver := range map[string]func(testing.TB) *otlptest.Receiver{
		"grpc": otlptest.NewGRPC, "http/protobuf": otlptest.NewHTTP,
	} {
		t.Run(protocol, func(t *testing.T) {
			clearEnv(t)
			r := receiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			p := start(t, Options{ServiceName: "shop", Traces: true})

			counter, err := p.Meter.Meter("test").Int64Counter("items")
			if err != nil {
				t.Fatal(err)
			}
			counter.Add(context.Background(), 3)
			emit(p, 2)
			_, span := p.Tracer.Tracer("test").Start(context.Background(), "work")
			span.End()
			if err := p.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}

			checkReceived(t, r)
			if got := p.Unexported(nil); got != nil {
				t.Errorf("not exported: got %+v, want nothing", got)
			}
		})
	}
}

func checkReceived(t *testing.T, r *otlptest.Receiver) {
	t.Helper()
	boot, err := stall.BootID()
	if err != nil {
		t.Skipf("no boot id on this system: %v", err)
	}
	want := map[string]string{
		semconv.AttrBootID: boot, "service.name": "shop", "deployment.environment.name": "test",
		semconv.AttrProcessPID: "int_value:" + strconv.Itoa(os.Getpid()),
	}
	check := func(what string, resource map[string]string) {
		t.Helper()
		for k, v := range want {
			// The text form of a message has blanks that are not stable.
			if got := strings.ReplaceAll(resource[k], " ", ""); got != v {
				t.Errorf("%s: resource has %s = %q, want %q", what, k, got, v)
			}
		}
	}
	names := make(map[string]bool)
	for _, m := range r.Metrics() {
		names[m.GetName()] = true
		check(m.GetName(), m.Resource)
	}
	if !names["items"] || !names[semconv.MetricDropped] {
		t.Errorf("received metrics %v, want items and %s", names, semconv.MetricDropped)
	}
	if got := len(r.Logs()); got != 2 {
		t.Errorf("received %d log records, want 2", got)
	}
	for _, l := range r.Logs() {
		check("log record", l.Resource)
		if got, want := l.GetEventName(), semconv.EventGap; got != want {
			t.Errorf("event name: got %q, want %q", got, want)
		}
	}
	if got := r.Spans(); len(got) != 1 || got[0].GetName() != "work" {
		t.Errorf("received spans %v, want one, work", got)
	}
}

func TestServiceNameFromEnvironment(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	for env, want := range map[string]string{"": "shop", "cart": "cart"} {
		t.Setenv("OTEL_SERVICE_NAME", env)
		p := start(t, Options{ServiceName: "shop"})
		if got, _ := p.Resource.Set().Value("service.name"); got.AsString() != want {
			t.Errorf("service name with OTEL_SERVICE_NAME=%q: got %q, want %q", env, got.AsString(), want)
		}
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestDisabled(t *testing.T) {
	clearEnv(t)
	r := otlptest.NewGRPC(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_SDK_DISABLED", "TRUE")
	p := start(t, Options{Traces: true})
	if p.Logger.Logger("test").Enabled(context.Background(), log.EnabledParameters{}) {
		t.Error("the logger is enabled")
	}
	emit(p, 1)
	_, span := p.Tracer.Tracer("test").Start(context.Background(), "work")
	if span.IsRecording() {
		t.Error("the span is recording")
	}
	span.End()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if n := len(r.Metrics()) + len(r.Logs()) + len(r.Spans()); n != 0 {
		t.Errorf("received %d items, want none", n)
	}
}

func TestStartRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon",
		"OTEL_LOGS_EXPORTER":          "console",
		"OTEL_RESOURCE_ATTRIBUTES":    "a=b,nonsense",
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			t.Setenv(name, value)
			p, err := Start(context.Background(), Options{Traces: true})
			if err == nil || p != nil {
				t.Fatalf("got %v, %v, want an error", p, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

// silent listens and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// gone is an address where nobody listens.
func gone(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// TestDeadCollector: Shutdown ends, with an error of one line, and everything
// that was lost is counted. That it ends is what go test's own limit checks.
func TestDeadCollector(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for name, endpoint := range map[string]func(*testing.T) string{"silent": silent, "gone": gone} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				clearEnv(t)
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint(t))
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv("OTEL_BLRP_MAX_QUEUE_SIZE", "50")
				t.Setenv("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "10")
				p := start(t, Options{Traces: true})
				p.limit = 300 * time.Millisecond
				const sent = 1000
				emit(p, sent)
				_, span := p.Tracer.Tracer("test").Start(context.Background(), "work")
				span.End()
				// A batch is under way at most, and the queue is full.
				if p.logs.lost()+p.logs.failed() == 0 {
					t.Error("nothing was dropped while it ran")
				}
				err := p.Shutdown(context.Background())
				if err == nil || strings.Contains(err.Error(), "\n") {
					t.Errorf("got error %q, want one of one line", err)
				}
				if u := p.Unexported(err); u == nil || u.Events != sent || u.Spans != 1 || u.Error != err.Error() {
					t.Errorf("not exported: got %+v, want %d events, a span and the error", u, sent)
				}
				if again := p.Shutdown(context.Background()); !errors.Is(again, err) {
					t.Errorf("second shutdown: got %v, want %v", again, err)
				}
			})
		}
	}
}

// TestLost: nothing that may still arrive is lost, and what is lost stays so.
func TestLost(t *testing.T) {
	c := pipeline{room: 10}
	for _, step := range []struct {
		in, out, want uint64
		over          bool
	}{
		{in: 10, want: 0},
		{in: 5, want: 5},
		{out: 10, want: 5},
		{in: 20, want: 15},
		{out: 9, want: 15},
		{over: true, want: 16},
	} {
		c.in.Add(step.in)
		c.out.Add(step.out)
		c.over.Store(step.over)
		if got := c.lost(); got != step.want {
			t.Errorf("after %+v: got %d lost, want %d", step, got, step.want)
		}
	}
}
