package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
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
	stdout, stderr, code := sidecar(t, nil, "probe", "--duration", "1s", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	checkProbe(t, one[gaps.Document](t, stdout))

	stdout, stderr, code = sidecar(t, nil, "probe", "--duration", "200ms", "--mode", "periodic")
	if code != 0 || !strings.Contains(stdout, "GAPS OF THIS MACHINE") || !strings.Contains(stdout, "periodic") {
		t.Errorf("exit %d, stderr %q, stdout %q", code, stderr, stdout)
	}
}

func checkProbe(t *testing.T, d gaps.Document) {
	t.Helper()
	if d.Schema != gaps.Schema || d.Duration <= 0 || d.Clock != "CLOCK_MONOTONIC" {
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

// TestRun runs two sidecars on one board, with a Collector that is not there,
// and ends them by signal.
func TestRun(t *testing.T) {
	board := filepath.Join(t.TempDir(), "otelgc", "board")
	first := startRun(t, board)
	first.await("writing the board")
	second := startRun(t, board)
	second.await("running without the board")
	second.end()
	if _, err := os.Stat(board); err != nil {
		t.Errorf("the end of the second sidecar took the board of the first away: %v", err)
	}
	first.end()
	if _, err := os.Stat(board); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat board after the end: %v, want that it does not exist", err)
	}
}

type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr *os.File
}

func startRun(t *testing.T, board string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.CommandContext(t.Context(), binary, "run", "--json", "--board", board)}
	// Port 9 is discard: nobody listens on it.
	r.cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9")
	var err error
	if r.stderr, err = os.CreateTemp(t.TempDir(), "stderr"); err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) log() string {
	text, err := os.ReadFile(r.stderr.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// await waits until the log holds text; the test's own deadline bounds it.
func (r *running) await(text string) {
	r.t.Helper()
	for !strings.Contains(r.log(), text) {
		if r.t.Context().Err() != nil || r.cmd.ProcessState != nil {
			r.t.Fatalf("the log does not hold %q: %s", text, r.log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *running) end() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Fatalf("run: %v: %s", err, r.log())
	}
	checkProbe(r.t, one[gaps.Document](r.t, r.stdout.String()))
}
