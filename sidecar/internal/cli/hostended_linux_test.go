package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// lines keeps a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestTargetEnds: it is said when the target ends, not when the sidecar does, and
// nothing is covered from then on.
func TestTargetEnds(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Options{Clock: clock, Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")})
	if err != nil {
		t.Fatal(err)
	}
	board := startBoard(t, clock)
	target := exec.Command("sleep", "1000")
	if err := target.Start(); err != nil {
		t.Skipf("skipped: a process to watch: %v", err)
	}
	said := &lines{}
	h, err := startHostSide(target.Process.Pid, slog.New(slog.NewTextHandler(said, nil)), clock, board, tel, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	time.Sleep(statusEvery / 2) // a few batches
	if err := target.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = target.Wait() // killed
	for since := time.Now(); !strings.Contains(said.String(), "the target has ended"); time.Sleep(time.Millisecond) {
		if time.Since(since) > 3*time.Minute {
			t.Fatalf("nobody says that the target has ended: %s", said)
		}
	}
	<-h.over
	if got, ok := coverageOf(t, reader); !ok || got != 0 {
		t.Errorf("coverage: got %v, known: %v, want 0", got, ok)
	}
	if n := len(h.unseen); h.at == 0 || h.status <= h.at || n != 0 {
		t.Errorf("told up to %d, with %d spans to tell, want all told up to behind the last batch, %d", h.status, n, h.at)
	}
}

// coverageOf returns what was told last of how much is covered.
func coverageOf(t *testing.T, reader *sdkmetric.ManualReader) (float64, bool) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[float64]); ok && strings.HasSuffix(m.Name, "monitor.coverage") && len(g.DataPoints) == 1 {
				return g.DataPoints[0].Value, true
			}
		}
	}
	return 0, false
}
