package hostwatch

import (
	"testing"
	"time"
)

// TestPressureOfItsCgroup: two threads of a child share a CPU, and its own cgroup
// says that they wait, as the machine does.
func TestPressureOfItsCgroup(t *testing.T) {
	dir := makePressureGroup(t)
	pid := child(t, "spin2", lastCPU(t))
	enter(t, dir, pid)
	l := &log{}
	w := start(t, Options{PID: pid, CountersOnly: true}, l)
	for since := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		total := w.Totals()
		own, known := total.GroupPressure.Get()
		if known && own.CPU > 0 && total.CPU > 0 {
			t.Logf("its cgroup waited %v, the machine %v", own.CPU, total.CPU)
			return
		}
		if time.Since(since) > 3*time.Minute {
			t.Fatalf("its cgroup waited %v (known: %v), the machine %v, want some of each", own.CPU, known, total.CPU)
		}
	}
}
