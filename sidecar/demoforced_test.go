package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// TestDemoInjected: what is done to the service is what p99 is blamed on. Where other
// programs want the machine, too, waiting for it may come first; behind that it is still
// what was done.
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
			machine, onlooker := machineTime(), onlook(t)
			d, ended := endedDemo(t, nil, "--duration", "4s", "--inject", what)
			stood, others := onlooker(), machine(ended)
			if followed := strings.Contains(d.Setup["machine"], "is followed"); tt.cause.IsHost() && !followed {
				t.Skipf("skipped: the service's threads cannot be followed here: %q", d.Notes)
			}
			got := strings.TrimPrefix(strings.TrimPrefix(d.Headline, "TO BLAME FOR P99: "), "PERHAPS ")
			switch {
			case got == tt.headline && isFirst(&d, tt.cause):
			case others > alone && (leads(&d, tt.cause) || tt.cause.IsHost() && got == tt.headline):
				t.Logf("%q: other programs had %.0f %% of the machine's time", d.Headline, 100*others)
			case stood > standstill:
				t.Logf("%q: who only looked on stood still for %.0f %% of the time", d.Headline, 100*stood)
			default:
				t.Errorf("headline %q, want %s, mostly %v; others had %.0f %% of the machine's time: %q", d.Headline, tt.headline, tt.cause, 100*others, d.Blame)
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

// leads reports whether a cause has more of the time above p99 than whatever else other
// programs do not add to: what the collector did is one, and what the program did.
func leads(d *blame.Document, cause stall.Cause) bool {
	group := func(owner string) string {
		switch {
		case strings.HasPrefix(owner, "gc."):
			return "gc"
		case strings.HasPrefix(owner, "app"):
			return "app"
		}
		return owner
	}
	sums := map[string]float64{}
	for _, a := range d.Attribution {
		if strings.HasPrefix(a.Bucket, "p99") || a.Bucket == "slowest" {
			for owner, f := range a.Share {
				sums[group(owner)] += f * float64(a.Time)
			}
		}
	}
	for _, other := range []string{"gc", "app", stall.RuntimeSuspension.String(), stall.HostThrottled.String()} {
		if own := group(cause.String()); other != own && sums[other] >= sums[own] {
			return false
		}
	}
	return true
}

// isFirst reports whether the first sentence names the cause as the one with the most time,
// where it names one; of stops that are not for the collector it does not.
func isFirst(d *blame.Document, c stall.Cause) bool {
	return c == stall.RuntimeSuspension || strings.Contains(d.Blame[0], c.String())
}

// alone is what other programs have of the machine's time where it is the demo's.
const alone = 0.05

// machineTime returns a function that returns for which share of the time since then the
// CPUs of this machine ran others than a program that was started since, and has ended;
// zero where that is not known.
func machineTime() func(ended *os.ProcessState) (others float64) {
	const ticksPerSecond = 100 // USER_HZ
	idle, all := cpuTicks()
	return func(ended *os.ProcessState) float64 {
		i, a := cpuTicks()
		i, a = i-idle, a-all
		own := ticksPerSecond * (ended.UserTime() + ended.SystemTime()).Seconds()
		return max(a-i-own, 0) / max(a, 1)
	}
}

// cpuTicks reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq, steal (proc_stat(5)).
func cpuTicks() (idle, all float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line) {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || i > 8 {
			continue
		}
		all += n
		if i == 4 || i == 5 {
			idle += n
		}
	}
	return idle, all
}
