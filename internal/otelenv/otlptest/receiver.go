// Package otlptest is an OTLP receiver for tests: on loopback, in memory, over
// gRPC and HTTP, by the services of opentelemetry-proto (collector/*/v1). It keeps
// what comes as it is. At the end of the test all names of otelgc's in it must be in the registry.
package otlptest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one request over HTTP.
const maxBody = 16 << 20

// Receiver keeps what it receives. A request for an export has the form of the data of
// its signal, and so have many one after the other.
type Receiver struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT has to be.
	URL string

	mu      sync.Mutex
	metrics metrics.MetricsData
	logs    logs.LogsData
	spans   trace.TracesData
}

// NewGRPC starts a receiver that speaks gRPC; the test's end stops it.
func NewGRPC(t testing.TB) *Receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Receiver{URL: "http://" + l.Addr().String()}
	server := grpc.NewServer(grpc.ForceServerCodec(undecoded{}), grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		var body []byte
		if err := call.RecvMsg(&body); err != nil {
			return err
		}
		service, _ := grpc.MethodFromServerStream(call)
		if err := r.put(service, body); err != nil {
			return err
		}
		return call.SendMsg(new([]byte)) // empty: all was taken
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve gRPC: %v", err)
		}
		r.checkNames(t)
	})
	return r
}

// undecoded is a codec of messages that stay as they are.
type undecoded struct{}

func (undecoded) Name() string                       { return "proto" }
func (undecoded) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (undecoded) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }

// NewHTTP starts a receiver that speaks HTTP with protobuf; the test's end
// stops it.
func NewHTTP(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err == nil {
			err = r.put(req.URL.Path, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf") // empty: all was taken
	}))
	t.Cleanup(func() {
		server.Close()
		r.checkNames(t)
	})
	r.URL = server.URL
	return r
}

// put adds a request to the data of the signal that the name of a service or a path
// holds.
func (r *Receiver) put(name string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var to proto.Message = &r.spans
	switch {
	case strings.Contains(name, "metrics"):
		to = &r.metrics
	case strings.Contains(name, "logs"):
		to = &r.logs
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(body, to)
}

// Metric is one metric as it was received.
type Metric struct {
	Resource map[string]string
	*metrics.Metric
}

// Log is one log record as it was received.
type Log struct {
	Resource map[string]string
	*logs.LogRecord
}

// Span is one span as it was received.
type Span struct {
	Resource map[string]string
	*trace.Span
}

// Metrics returns what was received so far, oldest first.
func (r *Receiver) Metrics() (all []Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rm := range r.metrics.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				all = append(all, Metric{attributesOf(rm.GetResource()), m})
			}
		}
	}
	return all
}

// Logs returns what was received so far, oldest first.
func (r *Receiver) Logs() (all []Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rl := range r.logs.GetResourceLogs() {
		for _, sl := range rl.GetScopeLogs() {
			for _, record := range sl.GetLogRecords() {
				all = append(all, Log{attributesOf(rl.GetResource()), record})
			}
		}
	}
	return all
}

// Spans returns what was received so far, oldest first.
func (r *Receiver) Spans() (all []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range r.spans.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() {
				all = append(all, Span{attributesOf(rs.GetResource()), span})
			}
		}
	}
	return all
}

// Attribute returns the value of key in attributes, nil if it is not there.
func Attribute(attributes []*common.KeyValue, key string) *common.AnyValue {
	for _, kv := range attributes {
		if kv.GetKey() == key {
			return kv.GetValue()
		}
	}
	return nil
}

func attributesOf(r *resource.Resource) map[string]string {
	m := make(map[string]string)
	for _, kv := range r.GetAttributes() {
		if _, ok := kv.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
			m[kv.GetKey()] = kv.GetValue().GetStringValue()
		} else {
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}
