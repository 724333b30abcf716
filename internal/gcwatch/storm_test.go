package gcwatch

import (
	"runtime"
	"testing"
	"time"
)

// TestStormWithSlowListener lets cycles pile up behind a listener that is
// slow: none may be lost, and the watermark must follow.
func TestStormWithSlowListener(t *testing.T) {
	runtime.GC()
	var j journal
	several := 0
	w, err := Start(Options{Clock: newClock(t), OnNotice: func(n *Notice) {
		if n.Cycles > 1 {
			several++
		}
		j.note(n)
		time.Sleep(3 * time.Millisecond)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	allocate(300)
	w.Stop()
	if several == 0 {
		t.Skip("no notice covered several cycles: the listener was not slow enough here")
	}
	var sum uint64
	for _, c := range j.collections {
		sum += uint64(c.Cycles)
	}
	if sum != j.cycles || sum < 300 {
		t.Errorf("cycles: got %d in records and %d in notices, want the same, 300 at least", sum, j.cycles)
	}
	for i := 1; i < len(j.marks); i++ {
		if j.marks[i] < j.marks[i-1] {
			t.Errorf("watermark %d went back", i)
		}
	}
	var c = j.collections[len(j.collections)-1]
	if end, ok := c.End.Get(); !ok || j.marks[len(j.marks)-1] < end.Add(-c.Pauses[len(c.Pauses)-1].Slack) {
		t.Errorf("last watermark %d: before the end %d of the last cycle told", j.marks[len(j.marks)-1], end)
	}
	t.Logf("%d notices of several cycles, %d spans unseen", several, len(j.unseen))
}
