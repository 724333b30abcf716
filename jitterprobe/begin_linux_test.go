package jitterprobe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNoLookBeforeBegin: what a probe saw before the kernel kept records of its
// thread would have no cause, and the longest gap of a short run is often there. Until
// the loop has looked there is nothing to tell.
func TestNoLookBeforeBegin(t *testing.T) {
	needSpin(t)
	for _, mode := range spinning {
		t.Run(mode.String(), func(t *testing.T) {
			o, err := Options{Mode: mode, Threshold: DefaultThreshold}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			e, err := startLoop(mode, 0, o)
			if err != nil {
				t.Skipf("a thread cannot spin on CPU 0: %v", err)
			}
			var snap Snapshot
			drain := func() { e.collect(&snap, nil) }
			within(t, "the wait for begin", func() bool { return waits(t, mode, e.tid) })
			if drain(); snap.Start != 0 || snap.Watermark != 0 {
				t.Errorf("it saw all from %d to %d before it looked", snap.Start, snap.Watermark)
			}
			begun := o.Clock.Now()
			e.begin()
			e.await(time.Minute)
			if drain(); snap.Watermark == 0 {
				t.Error("nobody waited for the first look")
			}
			if !e.halt() {
				t.Fatal("it does not end")
			}
			e.release()
			// A counter's tick has its instant from anchors around it, some of which are wide.
			if first := snap.Start.Add(10 * time.Microsecond); first < begun || snap.Watermark < snap.Start {
				t.Errorf("it looked from %d to %d, and was to begin at %d", snap.Start, snap.Watermark, begun)
			}
		})
	}
}

// waits reports whether the thread of a loop has had the time to look, and waits: a raw
// one does that on its CPU.
func waits(t *testing.T, mode Mode, tid int) bool {
	t.Helper()
	read := func(file string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/%s", tid, file))
		if err != nil {
			t.Skipf("what the thread does is not to be seen: %v", err)
		}
		return string(text)
	}
	if mode != Spin {
		_, state, _ := strings.Cut(read("stat"), ") ") // proc_pid_stat(5)
		return strings.HasPrefix(state, "S")
	}
	ran, _, _ := strings.Cut(read("schedstat"), " ")
	ns, err := strconv.ParseUint(ran, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ns) > time.Millisecond
}
