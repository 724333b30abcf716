// Package otlptest is an OTLP receiver for tests: on loopback, in memory, over
// gRPC and HTTP, by the services of opentelemetry-proto (collector/*/v1). It keeps
// what comes as it is, and judges nothing.
package otlptest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one request over HTTP.
const maxBody = 16 << 20

// Receiver keeps what it receives.
type Receiver struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT has to be.
	URL string

	mu      sync.Mutex
	metrics []*metrics.ResourceMetrics
	logs    []*logs.ResourceLogs
	spans   []*trace.ResourceSpans
}

// NewGRPC starts a receiver that speaks gRPC; the test's end stops it.
func NewGRPC(t testing.TB) *Receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Receiver{URL: "http://" + l.Addr().String()}
	server := grpc.NewServer()
	colmetrics.RegisterMetricsServiceServer(server, metricsService{r: r})
	collogs.RegisterLogsServiceServer(server, logsService{r: r})
	coltrace.RegisterTraceServiceServer(server, traceService{r: r})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve gRPC: %v", err)
		}
	})
	return r
}

// NewHTTP starts a receiver that speaks HTTP with protobuf; the test's end
// stops it.
func NewHTTP(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	mux := http.NewServeMux()
	handle(mux, "/v1/metrics", &colmetrics.ExportMetricsServiceRequest{}, &colmetrics.ExportMetricsServiceResponse{}, r.putMetrics)
	handle(mux, "/v1/logs", &collogs.ExportLogsServiceRequest{}, &collogs.ExportLogsServiceResponse{}, r.putLogs)
	handle(mux, "/v1/traces", &coltrace.ExportTraceServiceRequest{}, &coltrace.ExportTraceServiceResponse{}, r.putSpans)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func handle[Q, A proto.Message](mux *http.ServeMux, path string, kind Q, answer A, put func(Q)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q := proto.Clone(kind).(Q)
		if err := proto.Unmarshal(body, q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		put(q)
		out, err := proto.Marshal(answer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(out)
	})
}

func (r *Receiver) putMetrics(q *colmetrics.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics = append(r.metrics, q.GetResourceMetrics()...)
}

func (r *Receiver) putLogs(q *collogs.ExportLogsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, q.GetResourceLogs()...)
}

func (r *Receiver) putSpans(q *coltrace.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, q.GetResourceSpans()...)
}

type metricsService struct {
	colmetrics.UnimplementedMetricsServiceServer
	r *Receiver
}

func (s metricsService) Export(_ context.Context, q *colmetrics.ExportMetricsServiceRequest) (*colmetrics.ExportMetricsServiceResponse, error) {
	s.r.putMetrics(q)
	return &colmetrics.ExportMetricsServiceResponse{}, nil
}

type logsService struct {
	collogs.UnimplementedLogsServiceServer
	r *Receiver
}

func (s logsService) Export(_ context.Context, q *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error) {
	s.r.putLogs(q)
	return &collogs.ExportLogsServiceResponse{}, nil
}

type traceService struct {
	coltrace.UnimplementedTraceServiceServer
	r *Receiver
}

func (s traceService) Export(_ context.Context, q *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	s.r.putSpans(q)
	return &coltrace.ExportTraceServiceResponse{}, nil
}
