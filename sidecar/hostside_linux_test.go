package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/stall"
)

// output is what a process printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// TestRunTellsTheTarget watches a busy process that shares its CPU with
// another: both that it was watched and that it was preempted is on the board.
func TestRunTellsTheTarget(t *testing.T) {
	busy := func() int {
		cmd := exec.CommandContext(t.Context(), "taskset", "-c", "0", "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Skipf("no busy process to be had: %v", err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it runs for ever
			_ = cmd.Wait()         // killed
		})
		return cmd.Process.Pid
	}
	target := busy()
	busy()
	path := filepath.Join(t.TempDir(), "otelgc", "board")
	cmd := exec.CommandContext(t.Context(), binary, "run", "--mode", "periodic", "--board", path, "--target", fmt.Sprint(target))
	cmd.Env = append(os.Environ(), "OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none")
	var stderr output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have failed already
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, stderr.String())
		}
	})
	defer ended()

	var watched, preempted time.Duration
	var reader *board.Reader
	var records []stall.Interval
	deadline := time.Now().Add(3 * time.Minute)
	for watched < time.Second || preempted < 50*time.Millisecond {
		if strings.Contains(stderr.String(), "counted, not followed") {
			t.Skipf("skipped: the scheduler cannot be followed here: %s", stderr.String())
		}
		if time.Now().After(deadline) {
			t.Fatalf("watched %v, preempted %v: %s", watched, preempted, stderr.String())
		}
		time.Sleep(20 * time.Millisecond)
		var err error
		if reader == nil {
			if reader, err = board.Open(path); errors.Is(err, fs.ErrNotExist) {
				reader = nil
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reader.Close() }() // read only
		}
		if records, _, err = reader.Read(records[:0]); err != nil {
			t.Fatal(err)
		}
		for i := range records {
			v := &records[i]
			if v.Scope != stall.ScopeTarget {
				continue
			}
			if v.Owner.PID != int32(target) || v.Owner.Created == 0 {
				t.Fatalf("of another process: %+v", v)
			}
			if board.Watched(v) {
				watched += v.Duration()
			} else if v.Cause == stall.HostPreempted {
				preempted += v.Duration()
			}
		}
	}
	ended()
	if !strings.Contains(stderr.String(), `"what the machine did to the target"`) {
		t.Errorf("no word of the target at the end: %s", stderr.String())
	}
}

func TestRunWithATargetThatIsNotThere(t *testing.T) {
	stdout, stderr, code := sidecar(t, withoutExport,
		"run", "--mode", "periodic", "--board", "off", "--target", "4194305")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "--target 4194305") {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and the target", code, stdout, stderr)
	}
}
