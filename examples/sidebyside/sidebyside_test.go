package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestPage makes the page of a short run: what it promises is in it.
func TestPage(t *testing.T) {
	var page strings.Builder
	var err error
	// Whether a short run has a request to show is luck.
	for duration := 2 * time.Second; duration <= 16*time.Second; duration *= 2 {
		page.Reset()
		if err = run(t.Context(), duration, &page); !errors.Is(err, errNone) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	today, ours, ok := strings.Cut(page.String(), "## As otelgc shows it")
	if !ok {
		t.Fatalf("the page has no second part:\n%s", page.String())
	}
	for _, want := range []string{"http.response.status_code: 200", "go.memory.allocated{}", "http.server.request.duration{", "go.schedule.duration{"} {
		if !strings.Contains(today, want) {
			t.Errorf("the first part does not hold %q", want)
		}
	}
	if strings.Contains(today, "otelgc.") {
		t.Error("the first part holds attributes of otelgc")
	}
	for _, want := range []string{"otelgc.stall.gc.", "otelgc.stall.app_or_host: ", "otelgc.fidelity: exact", "> ", "(gc.", "EventName : otelgc.request.slow", "EventName : otelgc.gc.collection"} {
		if !strings.Contains(ours, want) {
			t.Errorf("the second part does not hold %q", want)
		}
	}
}
