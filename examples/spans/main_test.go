package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: the spans of otelhttp say what stalls cost them.
func TestRun(t *testing.T) {
	s := sink.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	addr := sink.Listening(t, func() {
		go func() { done <- run(ctx, "127.0.0.1:0") }()
	})
	for range 10 {
		r, err := http.Get("http://" + addr + "/?kb=512")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	s.Wait(t, "http.response.status_code", "otelgc.stall.unseen", "otelgc.stall.coverage", "otelgc.gc.overlap", "otelgc.fidelity")
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
