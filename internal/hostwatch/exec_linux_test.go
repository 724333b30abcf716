package hostwatch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
)

// TestExecOfAnotherThread: a thread that executes takes the number of its process.
// Under its own one it does not run for ever.
func TestExecOfAnotherThread(t *testing.T) {
	signal := filepath.Join(t.TempDir(), "go")
	t.Setenv(goVariable, signal)
	pid := child(t, "exec", -1)
	l := &log{}
	w := start(t, Options{PID: pid}, l)
	l.await(t, 0)
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for since := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		// Between the end of the first thread and the other's taking its number there
		// is no environment.
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if time.Since(since) > 3*time.Minute {
			t.Fatalf("the child does not execute: %v", err)
		}
		if bytes.HasPrefix(environ, []byte(roleVariable+"=sleep")) {
			break
		}
	}
	l.await(t, 4*restEvery)
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	there := map[string]bool{}
	if _, err := p.Threads(1000, func(tid string) { there[tid] = true }); err != nil {
		t.Fatal(err)
	}
	for tid, thread := range w.timeline.threads {
		if !there[strconv.Itoa(int(tid))] {
			t.Errorf("thread %d is not there, and is in state %d", tid, thread.state)
		}
	}
	if len(w.timeline.threads) == 0 {
		t.Error("no thread is followed")
	}
}
