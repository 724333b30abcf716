package gotrace_test

import (
	"math"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// TestSlowClock: differences of instants do not overflow, whatever clock a trace
// says it has.
func TestSlowClock(t *testing.T) {
	const tracer = "EventBatch gen=1 m=18446744073709551615 time=0 size=auto"
	data, err := gotracetest.Assemble(strings.Join([]string{
		"Trace Go1.26", tracer, "Sync", "Frequency freq=1", "ClockSnapshot dt=0 mono=100 sec=1 nsec=1",
		"EventBatch gen=1 m=1 time=1 size=auto", "GoStatus dt=4294967000 g=1 m=1 gstatus=2",
		tracer, "Stacks", tracer, "Strings", "EndOfGeneration",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = all(t, data, gotrace.Options{}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if n++; g.End > math.MaxInt64/3 {
			t.Errorf("a generation that ends at %d", g.End)
		}
	})
	if err != nil || n != 1 {
		t.Errorf("%d generations and %v, want 1", n, err)
	}
}
