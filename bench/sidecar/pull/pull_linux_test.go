package pull

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/stall"
)

// TestSpans: which spans of the OpenTelemetry SDK are requests of a slice, and what they
// are called.
func TestSpans(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(pprof.Trace))
	defer server.Close()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider().Tracer("")
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("")
	old, oldest := tracer.Start(t.Context(), "begun before the slice")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		for ctx.Err() == nil {
			within, request := tracer.Start(context.Background(), "a request")
			_, part := tracer.Start(within, "a part of it")
			part.End()
			request.SetName("a name that it gets later")
			request.End()
			_, older := tracer.Start(old, "a part of an older one")
			older.End()
			_, dropped := never.Start(context.Background(), "not sampled")
			dropped.End()
			_, moved := tracer.Start(context.Background(), "ended elsewhere")
			done := make(chan struct{})
			go func() {
				moved.End()
				close(done)
			}()
			<-done
			time.Sleep(time.Millisecond)
		}
	}()
	slice, err := Take(t.Context(), os.Getpid(), server.URL, clock)
	cancel()
	<-served
	oldest.End()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, q := range slice.Requests {
		got[q.Name] = q.Moved
	}
	want := map[string]bool{"a request": false, "a part of an older one": false, "ended elsewhere": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("requests, and whether they moved (-want +got):\n%s", d)
	}
	if len(slice.Seen) == 0 || slice.Lost != 0 {
		t.Errorf("seen %v, lost %d", slice.Seen, slice.Lost)
	}
}
