package attribution

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestDeadGoFirst: whichever host has most, who fell silent makes way before anybody
// who lives.
func TestDeadGoFirst(t *testing.T) {
	const live, dead = 12, 10
	a := New(Config{MaxProcesses: live + 1 + dead})
	f := newFleet(2, live) // all of the first host live, one of the second does
	f.procs = f.procs[:live+1+dead]
	f.tell(a, 30*time.Second)
	f.procs = f.procs[:live+1]
	f.tell(a, 20*time.Second)
	newcomer := newSender()
	newcomer.boot = "new"
	for newcomer.pid = 1; newcomer.pid <= dead; newcomer.pid++ {
		for range 3 {
			a.Learn(newcomer.status(stall.GCWatch, f.at))
			f.tell(a, time.Second)
		}
		if a.known.exact[identityOf(newcomer)] == nil {
			t.Errorf("process %d of the newcomer did not take the place of one that ended: %+v", newcomer.pid, a.Lost())
		}
	}
	for _, s := range f.procs {
		if a.known.exact[identityOf(s)] == nil {
			t.Errorf("process %d of host %s lives, and made way", s.pid, s.boot)
		}
	}
	if got := a.Lost().ProcessesForgotten; got != dead {
		t.Errorf("%d processes were forgotten, want %d", got, dead)
	}
}
