package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDemoInterruptedAtItsEnd: while the demo waits for the last words of its
// service, it is interrupted no less than before: it does not say that the service
// was killed, which is its own doing.
func TestDemoInterruptedAtItsEnd(t *testing.T) {
	t.Parallel() // it waits all the time
	demo := startSidecar(t, nil, "demo", "--duration", "3s", "--rate", "50", "--live-heap", "1MiB")
	pid := demo.cmd.Process.Pid
	demo.await("it had connections", func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		return slices.ContainsFunc(files, func(f string) bool {
			to, _ := os.Readlink(f)
			return strings.HasPrefix(to, "socket:")
		})
	})
	if err := syscall.Kill(childOf(t, pid), syscall.SIGSTOP); err != nil {
		t.Skipf("skipped: the demo was over before its service could be stopped: %v", err)
	}
	// The load, and the time for answers that are late, are over in 6 s; then it waits
	// for 11 s at most.
	stopped := time.Now()
	time.Sleep(8 * time.Second)
	select {
	case <-demo.done:
		t.Skipf("skipped: %v passed in a sleep of 8s, and the demo was over", time.Since(stopped))
	default:
		_ = demo.end(syscall.SIGINT) // how it ends is in its log
	}
	if got, want := demo.log(), "otelgc-sidecar: demo: interrupted\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

// childOf returns the child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		if f := strings.Fields(string(text)); len(f) > 0 {
			if child, err := strconv.Atoi(f[0]); err == nil {
				return child
			}
		}
	}
	t.Skip("skipped: no child is to be seen: it has ended, or the kernel was built without CONFIG_PROC_CHILDREN")
	return 0
}
