package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/stall"
)

func runDemo(t *testing.T, environment []string, args ...string) blame.Document {
	t.Helper()
	d, _ := endedDemo(t, environment, args...)
	return d
}

// endedDemo is runDemo for who asks what it used.
func endedDemo(t *testing.T, environment []string, args ...string) (blame.Document, *os.ProcessState) {
	t.Helper()
	tmp := t.TempDir()
	stdout, stderr, state := endedSidecar(t, append(environment, "TMPDIR="+tmp), append([]string{"demo", "--json"}, args...)...)
	if !state.Success() {
		t.Fatalf("%v: %s", state, stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the demo left %v behind (%v)", left, err)
	}
	d := one[blame.Document](t, stdout)
	checkDemo(t, &d)
	return d, state
}

func checkDemo(t *testing.T, d *blame.Document) {
	t.Helper()
	if d.Schema != blame.Schema || d.Requests == 0 || len(d.Blame) == 0 {
		t.Fatalf("schema %q, %d requests, blame %q, notes %q", d.Schema, d.Requests, d.Blame, d.Notes)
	}
	if d.Collections != d.RuntimeCycles {
		t.Errorf("the monitor counted %d collections, the runtime %d", d.Collections, d.RuntimeCycles)
	}
	if d.Gaps == 0 {
		t.Error("no gap of the probe beside the service")
	}
	g := d.GapAttribution
	if g.GC+g.Other+g.Coincident != g.Over50us {
		t.Errorf("gap attribution %+v does not sum", g)
	}
	requests := 0
	for _, a := range d.Attribution {
		requests += a.Requests
		checkSum(t, a.Bucket+" "+a.Fidelity.String(), a.Share)
		if a.Affected > 0 {
			checkSum(t, a.Bucket+" "+a.Fidelity.String()+", affected", a.AffectedShare)
		}
		if a.One+a.Several != a.Affected || a.FullBlocking > 0 || a.OneStop > 0 {
			t.Errorf("%s: %d affected, by one %d, by several %d, by a full blocking one %d, by two in one stop %d, want the first to be the sum and the last none",
				a.Bucket, a.Affected, a.One, a.Several, a.FullBlocking, a.OneStop)
		}
		if a.Coverage < 0 || a.Coverage > 1 || a.Affected > a.Requests {
			t.Errorf("%s: coverage %v, %d of %d affected", a.Bucket, a.Coverage, a.Affected, a.Requests)
		}
	}
	if requests != d.Requests {
		t.Errorf("the bands hold %d requests, want %d", requests, d.Requests)
	}
}

func checkSum(t *testing.T, what string, share map[string]float64) {
	t.Helper()
	sum := 0.0
	for _, f := range share {
		sum += f
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Errorf("%s: shares sum to %v, want 1", what, sum)
	}
}

// TestDemo is the demo as anybody runs it first, but shorter.
func TestDemo(t *testing.T) {
	d := runDemo(t, nil, "--duration", "10s")
	if n := d.Requests + d.Errors; n != 1000 {
		t.Errorf("%d requests and %d errors, want 1,000 in all", d.Requests, d.Errors)
	}
	if d.Collections == 0 {
		t.Error("no collection")
	}
	if has := !d.Latency.P999.IsZero(); has != (d.Requests >= blame.MinForP999) {
		t.Errorf("p99.9 of %d requests: %v", d.Requests, has)
	}
}

// TestDemoWatchedExactly all the time: nearly all of the requests' time is
// covered, and the pauses of a small heap are charged to whom they delayed.
func TestDemoWatchedExactly(t *testing.T) {
	onlooker := onlook(t)
	d := runDemo(t, []string{"OTELGC_EXACT_BUDGET=1", "GOGC=20"}, "--duration", "4s", "--rate", "500", "--live-heap", "4MiB")
	covered, paused := 0.0, false
	for _, a := range d.Attribution {
		covered += a.Coverage * float64(a.Requests) / float64(d.Requests)
		paused = paused || a.Fidelity == stall.Exact && a.Share["gc.pause"] > 0
	}
	if stood := onlooker(); stood > standstill && (covered <= 0.8 || !paused) {
		t.Skipf("skipped: covered for %.0f %%, a pause charged in fidelity exact: %v, and who only looked on stood still for %.0f %% of the time", 100*covered, paused, 100*stood)
	}
	if covered <= 0.8 {
		t.Errorf("coverage %v, want above 0.8; notes: %q", covered, d.Notes)
	}
	if !paused {
		t.Errorf("no pause of %d collections is charged in fidelity exact: %+v", d.Collections, d.Attribution)
	}
}

func TestDemoWithoutGC(t *testing.T) {
	d := runDemo(t, []string{"GOGC=off", "GOMEMLIMIT=off"}, "--duration", "2s", "--rate", "200", "--live-heap", "4MiB", "--inject", "none")
	if d.Collections != 0 {
		t.Errorf("%d collections, want none", d.Collections)
	}
	for _, a := range d.Attribution {
		for cause := range a.Share {
			if strings.HasPrefix(cause, "gc.") || cause == "sched.gc" {
				t.Errorf("%s is charged with %v to %s, though nothing was collected", a.Bucket, a.Share[cause], cause)
			}
		}
		if a.Affected > 0 {
			t.Errorf("%d requests of %s are affected by GC", a.Affected, a.Bucket)
		}
	}
	if d.Affected != nil {
		t.Errorf("affected by GC: %+v", *d.Affected)
	}
}

// TestDemoWithAWrongBudget does not begin, and says why in one line.
func TestDemoWithAWrongBudget(t *testing.T) {
	stdout, stderr, code := sidecar(t, []string{"OTELGC_EXACT_BUDGET=lots"}, "demo", "--duration", "1s")
	const want = "otelgc-sidecar: demo: OTELGC_EXACT_BUDGET=\"lots\": want a fraction from 0 to 1\n"
	if code != 2 || stdout != "" || stderr != want {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and %q", code, stdout, stderr, want)
	}
}

// TestDemoInterrupted ends a demo early: it fails, and leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	tmp := t.TempDir()
	demo := startSidecar(t, []string{"TMPDIR=" + tmp}, "demo", "--duration", "10m", "--rate", "50", "--live-heap", "1MiB")
	demo.await("it had a board", func() bool {
		found, _ := filepath.Glob(filepath.Join(tmp, "*", "board"))
		return len(found) > 0
	})
	time.Sleep(200 * time.Millisecond) // so that it is in the middle of something
	err := demo.end(syscall.SIGINT)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("demo ended with %v, want exit 1", err)
	}
	if want := "otelgc-sidecar: demo: interrupted\n"; demo.log() != want {
		t.Errorf("stderr %q, want %q", demo.log(), want)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the demo left %v behind (%v)", left, err)
	}
}

// TestDemoWithoutADirectory says which variable names one.
func TestDemoWithoutADirectory(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	stdout, stderr, code := sidecar(t, []string{"TMPDIR=" + none}, "demo", "--duration=1s")
	if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, none) || !strings.Contains(stderr, "TMPDIR") {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 1 and one line that names %s and TMPDIR", code, stdout, stderr, none)
	}
}
