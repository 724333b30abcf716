package gotrace_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

// clockTrace returns a trace of one generation: a clock, and one event at the given
// tick.
func clockTrace(t *testing.T, version string, at uint64, clock ...string) []byte {
	t.Helper()
	const tracer = "EventBatch gen=1 m=18446744073709551615 time=0 size=auto"
	lines := append([]string{"Trace Go" + version, tracer}, clock...)
	lines = append(lines, fmt.Sprintf("EventBatch gen=1 m=1 time=%d size=auto", at), "GoStatus dt=0 g=1 m=1 gstatus=2",
		tracer, "Stacks", tracer, "Strings")
	if version == "1.26" {
		lines = append(lines, "EndOfGeneration")
	}
	data, err := gotracetest.Assemble(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSlowClock: differences of instants do not overflow, whatever clock a trace
// says it has.
func TestSlowClock(t *testing.T) {
	data := clockTrace(t, "1.26", 4294967001, "Sync", "Frequency freq=1", "ClockSnapshot dt=0 mono=100 sec=1 nsec=1")
	n := 0
	err := all(t, data, gotrace.Options{}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if n++; g.End > math.MaxInt64/3 {
			t.Errorf("a generation that ends at %d", g.End)
		}
	})
	if err != nil || n != 1 {
		t.Errorf("%d generations and %v, want 1", n, err)
	}
}

// TestWhatPlacesInstants: by its frequency a tick is 64 ns of CLOCK_MONOTONIC, and
// is taken for that rather than counted from a snapshot, unless the snapshot says
// that the ticks are of another clock. With another frequency, there are durations
// only if there is no snapshot.
func TestWhatPlacesInstants(t *testing.T) {
	const nanotime, other = "Frequency freq=15625000", "Frequency freq=1000000000"
	snapshot := func(mono int) string { return fmt.Sprintf("ClockSnapshot dt=1000 mono=%d sec=1 nsec=1", mono) }
	for name, c := range map[string]struct {
		version string
		clock   []string
		at      stall.Instant // of tick 2000
		shared  bool
	}{
		"frequency":                      {"1.22", []string{nanotime}, 128_000, true},
		"1.23":                           {"1.23", []string{nanotime}, 128_000, true},
		"another frequency":              {"1.22", []string{other}, 2000, false},
		"snapshot in the same tick":      {"1.25", []string{"Sync", nanotime, snapshot(64_063)}, 128_000, true},
		"descheduled within the reading": {"1.26", []string{"Sync", nanotime, snapshot(4_000)}, 128_000, true},
		"snapshot after its ticks":       {"1.26", []string{"Sync", nanotime, snapshot(64_064)}, 128_064, true},
		"another clock":                  {"1.26", []string{"Sync", nanotime, snapshot(5e9)}, 5e9 + 64_000, true},
		"another frequency, snapshot":    {"1.26", []string{"Sync", other, snapshot(5000)}, 6000, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, offset := range []time.Duration{0, -time.Hour, time.Hour} {
				n, want := 0, c.at.Add(offset)
				err := all(t, clockTrace(t, c.version, 2000, c.clock...), gotrace.Options{Offset: offset}, func(_ *gotrace.Reader, g *gotrace.Generation) {
					if n++; g.Start != want || g.Shared != c.shared {
						t.Errorf("got %d, shared %v, want %d, %v", g.Start, g.Shared, want, c.shared)
					}
				})
				if err != nil || n != 1 {
					t.Errorf("%d generations and %v, want 1", n, err)
				}
			}
		})
	}
}
