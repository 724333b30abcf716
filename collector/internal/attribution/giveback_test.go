package attribution

import (
	"testing"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/stall"
)

// TestMemoryIsGivenBack: what a burst took is given back when there is no more
// plenty of memory, and what is still wanted of it stays.
func TestMemoryIsGivenBack(t *testing.T) {
	const limit = 4 << 20
	a := New(Config{MaxBytes: limit})
	var all []*sender
	for pid := range int64(12) {
		s := newSender()
		s.pid = pid + 1
		all = append(all, s)
		a.Learn(s.status(stall.GCWatch, 100*sec))
		for i := range int64(senders.MostStalls) {
			a.Learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
		}
	}
	full := a.Known()
	if a.memoryIsPlenty() {
		t.Fatalf("%d bytes are known, and there is plenty of memory: nothing is proven", full)
	}
	for at := 101 * sec; at < 400*sec; at += sec {
		for _, s := range all {
			if at%(10*sec) == 0 {
				a.Learn(s.collection(stall.GCWatch, 2000+at/sec, at, at+ms, 0))
			}
			a.Learn(s.status(stall.GCWatch, at))
		}
	}
	if got := a.Known(); got >= limit/budget.MostKnown/2 {
		t.Errorf("%d bytes are known after the burst, %d in it, want plenty of memory", got, full)
	}
	l := a.known.exact[identityOf(all[0])].runtime[stall.GCWatch]
	wanted := stall.Span{Start: 400e9 - stall.Instant(budget.LookBack), End: 399e9}
	if got := l.Coverage(wanted); got != 1 {
		t.Errorf("coverage of the time that is wanted: got %v, want 1", got)
	}
	if got := len(l.Intervals(nil, wanted)); got != 12 {
		t.Errorf("stalls in the time that is wanted: got %d, want 12", got)
	}
}

func (a *Attributor) memoryIsPlenty() bool { return a.budget.Plenty() }

// TestCrowdedLog: where the limit lets no log grow, the oldest stalls go although
// they are wanted; that is counted, and their time is not seen any more.
func TestCrowdedLog(t *testing.T) {
	s := newSender()
	a := New(Config{MaxBytes: 32 << 10})
	a.Learn(s.status(stall.GCWatch, 100*sec))
	for i := range int64(400) {
		a.Learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
	}
	a.Learn(s.status(stall.GCWatch, 101*sec))
	l := a.known.exact[identityOf(s)].runtime[stall.GCWatch]
	n, room := l.Size()
	if n != room || room >= 400 {
		t.Fatalf("%d stalls are kept of %d: nothing is proven", n, room)
	}
	if got, want := a.Lost().Events["limit"], uint64(400-n); got != want {
		t.Errorf("stalls that found no room: got %d, want %d", got, want)
	}
	if got := l.Floor(); got < stall.Instant(100*sec+int64(400-n-1)*ms) {
		t.Errorf("floor %d: time of stalls that went counts as seen", got)
	}
	if a.Known() > 16<<10 {
		t.Errorf("%d bytes are known, want at most half of the limit", a.Known())
	}
}
