package jitterprobe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRuntimeBlocksSignals: the thread of mode Runtime takes no signal by which
// the runtime has a goroutine yield; others of the process do as before.
func TestRuntimeBlocksSignals(t *testing.T) {
	p, err := Start(Options{Mode: Runtime})
	if err != nil {
		t.Skip(err)
	}
	defer p.Stop()
	if p.Mode() != Runtime {
		t.Skip(p.Note())
	}
	if own := fmt.Sprint(p.loop.tid); !blocksSIGURG(t, own) {
		t.Errorf("thread %s of the probe takes SIGURG", own)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	takers := 0
	for _, task := range tasks {
		if !blocksSIGURG(t, task.Name()) {
			takers++
		}
	}
	if takers == 0 {
		t.Errorf("none of %d threads takes SIGURG", len(tasks))
	}
}

// blocksSIGURG reads the mask of a thread; of one that is gone it says false.
func blocksSIGURG(t *testing.T, task string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc/self/task", task, "status"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nSigBlk:\t")
	line, _, _ := strings.Cut(rest, "\n")
	blocked, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		t.Fatalf("thread %s: SigBlk %q: %v", task, line, err)
	}
	return blocked>>(uint(unix.SIGURG)-1)&1 == 1
}
