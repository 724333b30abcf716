package gcwatch

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func newClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func cyclesTotal() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// settle makes sure that no cycle is in progress and none is due.
func settle(t testing.TB) {
	t.Helper()
	old := debug.SetGCPercent(-1)
	runtime.GC()
	t.Cleanup(func() { debug.SetGCPercent(old) })
}

// journal keeps what notices said.
type journal struct {
	mu          sync.Mutex
	cycles      uint64
	collections []gc.Collection
	suspensions []stall.Interval
	unseen      []stall.Span
	marks       []stall.Instant
	notices     int
	gcPauses    uint64
	last        Totals
}

func (j *journal) note(n *Notice) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notices++
	j.cycles += n.Cycles
	for i := range n.Collections {
		j.collections = append(j.collections, n.Collections[i].Clone())
	}
	j.suspensions = append(j.suspensions, n.Suspensions...)
	j.unseen = append(j.unseen, n.Unseen...)
	j.marks = append(j.marks, n.Watermark)
	for _, b := range n.GCPauses {
		j.gcPauses += b.Count
	}
	j.last = n.Totals
}

var garbage [64][]byte

// allocate makes the heap grow and die until cycles more cycles are over.
func allocate(cycles uint64) {
	for end := cyclesTotal() + cycles; cyclesTotal() < end; {
		for i := range 4096 {
			garbage[i%len(garbage)] = make([]byte, 4096)
		}
	}
}
