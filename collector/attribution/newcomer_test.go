package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestNewcomerStays: a host that is new where all is taken has its part as soon as
// it has told for a while, also in a flood; one that told once has none.
func TestNewcomerStays(t *testing.T) {
	const limit = 1 << 20
	a := New(Config{MaxBytes: limit})
	f := newFleet(2, 200)
	f.tell(a, 10*time.Second)
	if a.Lost().Events["limit"] == 0 {
		t.Fatal("there is room for all: nothing is proven")
	}
	before := a.known.processes
	newcomer := newSender()
	newcomer.boot = "new"
	tell := func(second int) {
		for i := range 100 {
			s := newSender()
			s.boot = fmt.Sprint(second, i)
			a.Learn(s.status(stall.GCWatch, f.at))
		}
		a.Learn(newcomer.status(stall.GCWatch, f.at))
		f.tell(a, time.Second)
	}
	tell(0)
	if a.known.processes < before || a.known.hosts[newcomer.boot] != nil {
		t.Errorf("%d processes are known, and were %d: some made way for who told once", a.known.processes, before)
	}
	for second := range 5 {
		tell(1 + second)
	}
	if a.known.exact[identityOf(newcomer)] == nil {
		t.Errorf("a host that tells for seconds is not known: %+v", a.Lost())
	}
}
