package otelenv

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestComplaintsAreRare: the longer a Collector is dead, the less is said of it.
func TestComplaintsAreRare(t *testing.T) {
	var b bytes.Buffer
	c := NewComplaints(slog.New(slog.NewTextHandler(&b, nil)))
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	lines := func(d time.Duration) int {
		b.Reset()
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			c.Handle(errors.New("connection refused:\ncollector"))
		}
		return strings.Count(b.String(), "\n")
	}
	if n := lines(10 * time.Second); n != 1 || !strings.Contains(b.String(), "refused:; collector") || !strings.Contains(b.String(), "OTEL_METRICS_EXPORTER=none") {
		t.Errorf("10 complaints in 10 s made %d lines, want one with the mend: %s", n, b.String())
	}
	if n := lines(8 * time.Hour); n < 8*6 || n > 8*6+10 || strings.Contains(b.String(), "mend=") {
		t.Errorf("a night made %d lines, want about 6 an hour, and not the mend in each", n)
	}
	now = now.Add(time.Hour) // it was well for so long
	if n := lines(11 * time.Second); n != 2 || !strings.Contains(b.String(), "mend=") {
		t.Errorf("a new trouble made %d lines in 11 s, want 2 and the mend: %s", n, b.String())
	}
	c.End()
	if n := lines(time.Hour); n != 0 {
		t.Errorf("%d lines after the end, want none", n)
	}
}

// TestComplaintsOfEachKind: one trouble does not keep another from being told, and
// every kind has its own hint.
func TestComplaintsOfEachKind(t *testing.T) {
	var b bytes.Buffer
	c := NewComplaints(slog.New(slog.NewTextHandler(&b, nil)))
	for range 100 {
		c.Handle(errors.New("connection refused"))
		c.Handle(errors.New("rpc error: code = PermissionDenied"))
		c.Handle(errors.New("deadline exceeded")) // of the first kind
		c.Handle(errors.New("who knows"))
	}
	if n := strings.Count(b.String(), "\n"); n != 3 {
		t.Errorf("%d lines for three kinds of trouble, want one each:\n%s", n, b.String())
	}
	for _, want := range []string{"start a Collector", "OTEL_EXPORTER_OTLP_HEADERS", "who knows"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is not in one of the lines:\n%s", want, b.String())
		}
	}
	c.End()
	c.Handle(errors.New("404 Not Found"))
	if strings.Contains(b.String(), "404") {
		t.Errorf("a complaint after the end:\n%s", b.String())
	}
}
