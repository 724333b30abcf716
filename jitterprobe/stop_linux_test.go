package jitterprobe

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func threads(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(taskDir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for _, e := range entries {
		name, err := os.ReadFile(filepath.Join(taskDir, e.Name(), "comm"))
		if err == nil && strings.HasPrefix(string(name), "otelgc") {
			all[e.Name()] = true
		}
	}
	return all
}

func TestStopLeavesNothing(t *testing.T) {
	for _, mode := range []Mode{Spin, Runtime, Periodic} {
		t.Run(mode.String(), func(t *testing.T) {
			needSpin(t)
			goroutines := runtime.NumGoroutine()
			for range 5 {
				p := start(t, Options{Mode: mode, Force: true})
				if got := len(threads(t)); mode == Spin && got != 1 {
					t.Errorf("while it runs: got %d raw threads, want 1", got)
				}
				first := p.Stop()
				if again := p.Stop(); again != first {
					t.Errorf("second stop: got %+v, want %+v", again, first)
				}
				if got := threads(t); len(got) != 0 {
					t.Errorf("after stop: got threads %v", got)
				}
			}
			// A goroutine that has closed its channel is gone soon, not at once.
			within(t, "goroutines gone", func() bool { return runtime.NumGoroutine() <= goroutines })
		})
	}
}
