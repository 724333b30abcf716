package otelgc

import (
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
)

// TestDisagreementIsSaid: once, with how many, and not again for a while.
func TestDisagreementIsSaid(t *testing.T) {
	clock := testClock(t)
	tel, err := telemetry.New(telemetry.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	m := &Monitor{clock: clock, tel: tel, exact: newExact(clock, 0)}
	m.exact.fail = func(err error) { said = append(said, err.Error()) }
	teller := statusTeller{m: m}
	teller.disagreement(timeline.Disagreement{})
	if len(said) != 0 {
		t.Fatalf("said %q though all agree", said)
	}
	teller.disagreement(timeline.Disagreement{Missing: 3})
	teller.disagreement(timeline.Disagreement{Missing: 2})
	if len(said) != 1 || !strings.Contains(said[0], "pauses of 3 collections are longer by the runtime's own figures") {
		t.Fatalf("said %q, want one sentence about 3 collections", said)
	}
	teller.said -= stall.Instant(2 * time.Minute)
	teller.disagreement(timeline.Disagreement{Missing: 1, Delayed: 4})
	if len(said) != 2 || !strings.Contains(said[1], "pauses of 3 collections") || !strings.Contains(said[1], "; of 4 collections are longer in the execution trace") {
		t.Errorf("said %q, want a second sentence about the 2 before and 1 more, and 4 others", said)
	}
	teller.said -= stall.Instant(2 * time.Minute)
	teller.disagreement(timeline.Disagreement{Delayed: 1})
	if len(said) != 3 || !strings.Contains(said[2], "the pauses of 1 collection are longer in the execution trace") {
		t.Errorf("said %q, want a third sentence about 1 collection", said)
	}
}
