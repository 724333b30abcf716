package gcgrpc

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/semconv"
)

// spanTagger stands for otelgrpc: it puts a span into the context of a call.
type spanTagger struct{ handler }

func (*spanTagger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceFlags: trace.FlagsSampled,
	}))
}

// TestBesideAnother: in either order the window knows the span that another
// handler made, and its route.
func TestBesideAnother(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(map[bool]string{true: "ours first", false: "ours last"}[first], func(t *testing.T) { testBeside(t, first) })
	}
}

func testBeside(t *testing.T, first bool) {
	reader := sdkmetric.NewManualReader()
	m := start(t, otelgc.WithExactBudget(0),
		otelgc.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	other, ours := grpc.StatsHandler(&spanTagger{}), grpc.StatsHandler(NewServerHandler(m, WithRoutes()))
	opts := []grpc.ServerOption{other, ours}
	if first {
		slices.Reverse(opts)
	}
	conn := dial(t, func(context.Context) error { collect(); return nil }, opts)
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	var routes []string
	var traces []byte
	for deadline := time.Now().Add(3 * time.Minute); len(routes) == 0 && time.Now().Before(deadline); {
		flush(t, m)
		routes, traces = requestsOf(t, reader)
	}
	if want := []string{grpc_health_v1.Health_Check_FullMethodName}; !slices.Equal(routes, want) {
		t.Errorf("routes %v, want %v", routes, want)
	}
	if len(traces) == 0 || traces[0] != 7 {
		t.Errorf("exemplar's trace %v, want that of the span", traces)
	}
}

// collect has pauses enough that some are long enough for a sample, and lie in
// the window for sure.
func collect() {
	for range 50 {
		runtime.GC()
	}
}

// requestsOf returns the routes that were counted, and the trace of one exemplar.
func requestsOf(t *testing.T, reader *sdkmetric.ManualReader) (routes []string, trace []byte) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					if v, ok := p.Attributes.Value(attribute.Key(semconv.AttrRoute)); ok && m.Name == semconv.MetricRequests {
						routes = append(routes, v.AsString())
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if m.Name == semconv.MetricRequestStall && len(p.Exemplars) > 0 {
						trace = p.Exemplars[0].TraceID
					}
				}
			}
		}
	}
	return routes, trace
}
