package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/gaps"
)

// one decodes the one JSON document of standard output.
func one[T any](t *testing.T, stdout string) T {
	t.Helper()
	var doc T
	in := json.NewDecoder(strings.NewReader(stdout))
	if err := in.Decode(&doc); err != nil {
		t.Fatalf("decode %q: %v", stdout, err)
	}
	if in.More() {
		t.Fatalf("more than one document: %q", stdout)
	}
	return doc
}

func TestProbe(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := sidecar(t, nil, "probe", "--duration", "1s", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	d := one[gaps.Document](t, stdout)
	if checkProbe(t, d); d.Duration <= 0 {
		t.Errorf("duration %v, want above zero", d.Duration)
	}

	stdout, stderr, code = sidecar(t, nil, "probe", "--duration", "200ms", "--mode", "periodic")
	if code != 0 || !strings.Contains(stdout, "GAPS OF THIS MACHINE") || !strings.Contains(stdout, "periodic") {
		t.Errorf("exit %d, stderr %q, stdout %q", code, stderr, stdout)
	}
}

// checkProbe holds a document to its laws. Who is ended at once has watched for no
// time at all.
func checkProbe(t *testing.T, d gaps.Document) {
	t.Helper()
	if d.Schema != gaps.Schema || d.Duration < 0 || d.Clock != "CLOCK_MONOTONIC" {
		t.Errorf("schema %q, duration %v, clock %q", d.Schema, d.Duration, d.Clock)
	}
	if d.Covered < 0 || d.Covered > 1 {
		t.Errorf("covered %v, want 0 to 1", d.Covered)
	}
	end := d.Start.Add(d.Duration)
	for _, g := range d.Gaps {
		// An anchor taken anew moves a gap by less than this.
		if slack := 50 * time.Microsecond; g.End <= g.Start || g.Start < d.Start.Add(-slack) || g.End > end.Add(slack) {
			t.Errorf("gap %+v is not within %d and %d", g, d.Start, end)
		}
	}
	for _, bound := range []string{"2us", "10us", "50us", "100us", "1ms"} {
		if _, ok := d.Counts[bound]; !ok {
			t.Errorf("counts hold no %s: %v", bound, d.Counts)
		}
	}
}

// TestRun runs two sidecars on one board, the first with a Collector that is not
// there, and ends them by signal.
func TestRun(t *testing.T) {
	t.Parallel()
	board := filepath.Join(t.TempDir(), "otelgc", "board")
	first := startRun(t, board, withoutCollector)
	first.awaitLog("writing the board")
	second := startRun(t, board, withoutExport)
	second.awaitLog("running without the board")
	second.terminate()
	if _, err := os.Stat(board); err != nil {
		t.Errorf("the end of the second sidecar took the board of the first away: %v", err)
	}
	first.terminate()
	if _, err := os.Stat(board); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat board after the end: %v, want that it does not exist", err)
	}
}

type running struct{ *background }

func startRun(t *testing.T, board string, environment []string) running {
	t.Helper()
	return running{startSidecar(t, environment, "run", "--json", "--board", board)}
}

// awaitLog waits until the log holds text.
func (r running) awaitLog(text string) {
	r.t.Helper()
	r.await(fmt.Sprintf("its log held %q", text), func() bool { return strings.Contains(r.log(), text) })
}

// terminate ends the sidecar and checks its summary.
func (r running) terminate() {
	r.t.Helper()
	if err := r.end(syscall.SIGTERM); err != nil {
		r.t.Fatalf("run: %v: %s", err, r.log())
	}
	checkProbe(r.t, one[gaps.Document](r.t, r.stdout.String()))
}
