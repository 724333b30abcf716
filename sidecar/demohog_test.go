package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

func TestDemoHog(t *testing.T) {
	d := runDemo(t, []string{"OTELGC_EXACT_BUDGET=1"}, "--duration", "3s", "--rate", "300", "--inject", "cpu-hog")
	if len(d.Stalls) == 0 || d.Stalls[0].IsGC() {
		t.Errorf("stalls of a service whose CPUs were taken away: %v, want one first that is not the collector's: %q", d.Stalls, d.Blame)
	}
	if i := d.Injected; i == nil || i.What != "cpu-hog" {
		t.Errorf("injected: %+v, want cpu-hog", i)
	}
}

// TestDemoSlowed: collections of a small heap come by the dozen, and others want
// the service's CPU: some of their pauses are long because of it, and it is said.
func TestDemoSlowed(t *testing.T) {
	onlooker := onlook(t)
	d := runDemo(t, []string{"OTELGC_EXACT_BUDGET=1", "GOGC=10"}, "--duration", "12s", "--live-heap", "1MiB", "--inject", "cpu-hog")
	stood := onlooker()
	if machine := d.Setup["machine"]; !strings.Contains(machine, "is followed") {
		t.Skipf("skipped: the service's threads cannot be followed here: %q; notes: %q", machine, d.Notes)
	}
	s := d.Slowed
	if s.StolenCPU == 0 || !strings.Contains(s.Longest, "without a CPU") {
		t.Errorf("of %d collections beside a hog the machine made %+v long, want some, by stolen CPU", d.Collections, s)
	}
	switch {
	case d.Stalls[0] == stall.HostPreempted:
	case slices.Contains(d.Stalls, stall.HostPreempted) && stood > standstill:
		t.Logf("stalls %v: who only looked on stood still for %.0f %% of the time", d.Stalls, 100*stood)
	default:
		t.Errorf("stalls %v, want host.preempted first: who only looked on stood still for %.0f %% of the time", d.Stalls, 100*stood)
	}
}
