package e2e

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // as the Collector compresses

	"github.com/otelgc/otelgc/semconv"
)

// backend is what stands behind a gateway: an OTLP server that keeps what it
// gets.
type backend struct {
	addr string

	mu     sync.Mutex
	spans  map[string]delivered // by span id
	events map[string]int       // by the boot id of their resource
	all    []event
}

// delivered is a span as it came out of a gateway.
type delivered struct {
	boot, service string
	pod, route    string
	said
	times int // how often it came
}

// newBackend serves until the test ends.
func newBackend(t *testing.T) *backend {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{addr: l.Addr().String(), spans: map[string]delivered{}, events: map[string]int{}}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, &traceServer{backend: b})
	plogotlp.RegisterGRPCServer(server, &logServer{backend: b})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until Stop
	}()
	t.Cleanup(func() { server.Stop(); <-done })
	return b
}

type traceServer struct {
	ptraceotlp.UnimplementedGRPCServer
	*backend
}

func (s *traceServer) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range r.Traces().ResourceSpans().All() {
		res := rs.Resource().Attributes().AsRaw()
		boot, _ := res["otelgc.boot.id"].(string)
		for _, ss := range rs.ScopeSpans().All() {
			for _, sp := range ss.Spans().All() {
				s.keep(boot, res, sp)
			}
		}
	}
	return ptraceotlp.NewExportResponse(), nil
}

func (b *backend) keep(boot string, res map[string]any, sp ptrace.Span) {
	id := sp.SpanID().String()
	pod, _ := res["k8s.pod.uid"].(string)
	route, _ := sp.Attributes().AsRaw()[semconv.AttrRoute].(string)
	b.spans[id] = delivered{boot, name(res), pod, route, saidOf(sp), b.spans[id].times + 1}
}

type logServer struct {
	plogotlp.UnimplementedGRPCServer
	*backend
}

func (s *logServer) Export(_ context.Context, r plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rl := range r.Logs().ResourceLogs().All() {
		res := rl.Resource().Attributes().AsRaw()
		boot, _ := res["otelgc.boot.id"].(string)
		for _, sl := range rl.ScopeLogs().All() {
			s.events[boot] += sl.LogRecords().Len()
			for _, r := range sl.LogRecords().All() {
				s.all = append(s.all, event{name: r.EventName(), service: name(res), resource: res, attrs: r.Attributes().AsRaw()})
			}
		}
	}
	return plogotlp.NewExportResponse(), nil
}

// of returns the spans of one service.
func (b *backend) of(service string) map[string]delivered {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.spans)
	maps.DeleteFunc(all, func(_ string, d delivered) bool { return d.service != service })
	return all
}

// has reports how many of the spans came.
func (b *backend) has(ids map[string]made) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range ids {
		if b.spans[id].times > 0 {
			n++
		}
	}
	return n
}

// heard returns all events that came.
func (b *backend) heard() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// told returns how many events of a boot came.
func (b *backend) told(boot string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.events[boot]
}
