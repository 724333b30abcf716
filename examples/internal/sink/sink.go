// Package sink is a Collector for the tests of the examples, which keeps what it
// is sent as it comes.
package sink

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Sink receives OTLP over HTTP, of all signals. Names and texts stand in the messages
// as they are.
type Sink struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// New starts a sink, and has the environment of the test export to it, soon. It ends
// with the test.
func New(t *testing.T) *Sink {
	s := new(Sink)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	for _, delay := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY"} {
		t.Setenv(delay, "100") // ms
	}
	return s
}

func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.Copy(&s.all, r.Body)
	w.Header().Set("Content-Type", "application/x-protobuf") // empty: nothing was rejected
}

// Wait waits until all of the texts have come.
func (s *Sink) Wait(t *testing.T, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(texts) > 0; {
		s.mu.Lock()
		came := bytes.Contains(s.all.Bytes(), []byte(texts[0]))
		s.mu.Unlock()
		switch {
		case came:
			texts = texts[1:]
		case time.Now().After(deadline):
			t.Fatalf("no %q was exported in a minute", texts[0])
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Test runs a server, calls it at an address until the texts have come, and ends it.
func (s *Sink) Test(t *testing.T, server func(context.Context, net.Listener) error, call func(addr string) error, texts ...string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server(ctx, l) }()
	if err := call(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	s.Wait(t, texts...)
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Get calls the handler of package sample.
func Get(addr string) error {
	r, err := http.Get("http://" + addr + "/?kb=512")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return err
}
