package otelgc

import (
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
)

// TestDisagreementIsReported: once, with how many, and not again for a while.
func TestDisagreementIsReported(t *testing.T) {
	said := make(chan string, 16)
	handleErrors(t, func(err error) { said <- err.Error() })
	m := idleMonitor(t)
	next := func(want ...string) {
		t.Helper()
		got := <-said
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("reported %q, which lacks %q", got, w)
			}
		}
	}
	m.status.disagreement(timeline.Disagreement{}) // all agree
	m.status.disagreement(timeline.Disagreement{Missing: 3})
	m.status.disagreement(timeline.Disagreement{Missing: 2}) // too soon
	next("pauses of 3 collections are longer by the runtime's own figures")
	m.status.said -= stall.Instant(2 * time.Minute)
	m.status.disagreement(timeline.Disagreement{Missing: 1, Delayed: 4})
	next("pauses of 3 collections", "; of 4 collections are longer in the execution trace")
	m.status.said -= stall.Instant(2 * time.Minute)
	m.status.disagreement(timeline.Disagreement{Delayed: 1})
	next("the pauses of 1 collection are longer in the execution trace")
	if len(said) != 0 {
		t.Errorf("reported %q besides", <-said)
	}
}
