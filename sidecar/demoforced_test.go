package main

import (
	"os"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// TestDemoInjected: what is done to the service is what p99 is blamed on. On a machine
// that others want too it may be that this cannot be told, but nothing else is blamed.
func TestDemoInjected(t *testing.T) {
	for what, tt := range map[string]struct {
		headline string
		cause    stall.Cause
	}{
		"none":      {"GARBAGE COLLECTION", stall.GCAssist},
		"forced-gc": {"GARBAGE COLLECTION", stall.GCWait},
		"stw":       {"STOPS OF THE RUNTIME THAT ARE NOT GARBAGE COLLECTION", stall.RuntimeSuspension},
		"cpu-hog":   {"THE MACHINE", stall.HostPreempted},
		"throttle":  {"THE MACHINE", stall.HostThrottled},
	} {
		t.Run(what, func(t *testing.T) {
			if what == "throttle" && os.Geteuid() != 0 {
				t.Skip("skipped: only root makes a cgroup with a quota")
			}
			onlooker := onlook(t)
			d := runDemo(t, nil, "--duration", "4s", "--inject", what)
			stood := onlooker()
			if followed := strings.Contains(d.Setup["machine"], "is followed"); tt.cause.IsHost() && !followed {
				t.Skipf("skipped: the service's threads cannot be followed here: %q", d.Notes)
			}
			got := strings.TrimPrefix(strings.TrimPrefix(d.Headline, "TO BLAME FOR P99: "), "PERHAPS ")
			switch {
			case got == tt.headline && isFirst(&d, tt.cause):
			case stood > standstill:
				t.Logf("%q: who only looked on stood still for %.0f %% of the time", d.Headline, 100*stood)
			default:
				t.Errorf("headline %q, want %s, mostly %v: %q", d.Headline, tt.headline, tt.cause, d.Blame)
			}
			if i := d.Injected; what != "none" && (i == nil || i.What != what) {
				t.Errorf("injected: %+v, want %s", i, what)
			}
			if i := d.Injected; (what == "forced-gc" || what == "stw") && i != nil && i.Times == 0 {
				t.Errorf("%s was injected no time", what)
			}
		})
	}
}

// isFirst reports whether the first sentence names the cause as the one with the most time,
// where it names one; of stops that are not for the collector it does not.
func isFirst(d *blame.Document, c stall.Cause) bool {
	return c == stall.RuntimeSuspension || strings.Contains(d.Blame[0], c.String())
}
