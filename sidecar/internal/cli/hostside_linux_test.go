package cli

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// startBoard starts a board with a probe that sleeps; the test's end closes it.
func startBoard(t *testing.T, clock stall.Clock) *watch.Watch {
	t.Helper()
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	board, err := watch.Start(watch.Options{Clock: clock, Probe: probe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := board.Close(); err != nil {
			t.Error(err)
		}
	})
	return board
}

// TestHostIsRecordedFromTheFirstBatch: a report counts from the first record of a
// process, which comes with the first batch, and then there is one a second.
func TestHostIsRecordedFromTheFirstBatch(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	board := startBoard(t, clock)
	started, err := startHostSide(os.Getpid(), slog.New(slog.DiscardHandler), clock, board, tel, nil)
	if err != nil {
		t.Fatal(err)
	}
	started.stop()

	var at []stall.Instant
	h := &hostSide{log: slog.New(slog.DiscardHandler), process: started.process, board: board, telemetry: tel, record: func(r recording.Record) {
		at = append(at, r.(recording.Host).At)
	}}
	const begin, each = stall.Instant(1_000_000_000), 250 * time.Millisecond
	for i := range 9 {
		from := begin.Add(time.Duration(i) * each)
		h.take(&source.Batch{}, &hostwatch.Observations{Span: stall.Span{Start: from, End: from.Add(each)}})
	}
	want := []stall.Instant{begin.Add(each), begin.Add(4 * each), begin.Add(8 * each)}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
