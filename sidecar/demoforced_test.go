package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

// TestDemoForcedGC: the collector is first among what stalled the requests that
// it delayed. The demo gives the service eight Ps for it, so that requests go on
// while it marks. With one P that holds only where nobody else wants
// the CPU; on a machine that is short of it, requests wait for a P whose thread
// was taken away, and the truth is sched.
func TestDemoForcedGC(t *testing.T) {
	machine, onlooker := machineTime(), onlook(t)
	d, ended := endedDemo(t, []string{"OTELGC_EXACT_BUDGET=1"}, "--duration", "4s", "--inject", "forced-gc")
	stood := onlooker()
	idle, others := machine(ended)
	a := d.Affected
	if d.Collections == 0 || a == nil || a.Fidelity != stall.Exact {
		t.Fatalf("%d collections, and affected by them: %+v, want requests in fidelity exact", d.Collections, a)
	}
	if !slices.ContainsFunc(a.Stalls, stall.Cause.IsGC) || a.FirstStall != a.Stalls[0] || !slices.IsSortedFunc(a.Stalls, func(x, y stall.Cause) int { return cmp.Compare(a.Share[y.String()], a.Share[x.String()]) }) {
		t.Errorf("%s is first of %v, want one of gc among them, and the most first: %v", a.FirstStall, a.Stalls, a.Share)
	}
	switch {
	case a.FirstStall.IsGC() || a.FirstStall == stall.SchedGC:
	case a.FirstStall == stall.Sched && others > alone:
		t.Logf("sched is first: other programs had %.0f %% of the machine's time", 100*others)
	case !a.FirstStall.IsGC() && stood > standstill:
		t.Logf("%s is first: who only looked on stood still for %.0f %% of the time", a.FirstStall, 100*stood)
	default:
		t.Errorf("%s is first among the stalls of the %d requests that the collector delayed, others had %.0f %% of the machine's time, and who only looked on stood still for %.0f %%: %v; %q",
			a.FirstStall, a.Requests, 100*others, 100*stood, a.Share, d.Blame)
	}
	checkSum(t, "affected", a.Share)
	checkForced(t, &d, idle, stood)
}

// alone is what other programs have of the machine's time where it is the demo's.
const alone = 0.05

// wantForced is how many collections a second are forced where there is a CPU
// for them, and spareCPU the share of the machine's time from which on there was.
const (
	wantForced = 50
	spareCPU   = 0.25
)

// checkForced: the document says how many collections were forced, at the rate of
// requests that is the default. They were as many as are wanted, or it is said
// that they were not; and then the machine, which was idle for a share of the
// time, had no CPU for more, or who only looked on stood still for one too: what is
// idle they could not have.
func checkForced(t *testing.T, d *blame.Document, idle, stood float64) {
	t.Helper()
	i := d.Injected
	if i == nil || i.What != "forced-gc" || i.Times == 0 || i.Times > d.Collections {
		t.Fatalf("injected: %+v, want forced-gc and at most the %d collections that there were", i, d.Collections)
	}
	t.Logf("%d forced collections, %.1f a second; the machine was idle for %.0f %% of the time", i.Times, i.PerSecond, 100*idle)
	said := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "was to force 80 collections a second") })
	if said != (i.PerSecond < wantForced) {
		t.Errorf("%.1f forced collections a second, and that it is short of what was to be is said: %v: %q", i.PerSecond, said, d.Notes)
	}
	switch {
	case i.PerSecond >= wantForced:
	case idle < spareCPU:
		t.Logf("%d a second are not asked for: the machine had no CPU for them", wantForced)
	case stood > standstill:
		t.Logf("%d a second are not asked for: who only looked on stood still for %.0f %% of the time", wantForced, 100*stood)
	default:
		t.Errorf("%.1f forced collections a second, want at least %d: the machine was idle for %.0f %% of the time", i.PerSecond, wantForced, 100*idle)
	}
}

// machineTime returns a function that says for which share of the time since then the
// CPUs of this machine were idle, and for which others had them than a program that
// was started since, and has ended; zero where that is not known.
func machineTime() func(ended *os.ProcessState) (idle, others float64) {
	const ticksPerSecond = 100 // USER_HZ
	idle, all := cpuTicks()
	return func(ended *os.ProcessState) (float64, float64) {
		i, a := cpuTicks()
		i, a = i-idle, a-all
		own := ticksPerSecond * (ended.UserTime() + ended.SystemTime()).Seconds()
		return i / max(a, 1), max(a-i-own, 0) / max(a, 1)
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
