package attribution

import (
	"fmt"
	"hash/maphash"
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

// TestNewcomersTogether: whatever their boot ids hash to, hosts that are new where all
// is taken have their part, two as well as more than a bucket has places.
func TestNewcomersTogether(t *testing.T) {
	for _, n := range []int{2, 2 * len(bucket{})} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			a := New(Config{MaxBytes: 1 << 20})
			f := newFleet(2, 200)
			f.tell(a, 10*time.Second)
			if a.Lost().Events["limit"] == 0 {
				t.Fatal("there is room for all: nothing is proven")
			}
			newcomers := alike(a, n)
			for range 30 {
				for _, s := range newcomers {
					a.Learn(s.status(stall.GCWatch, f.at))
				}
				f.tell(a, time.Second)
			}
			for _, s := range newcomers {
				if a.known.exact[identityOf(s)] == nil {
					t.Errorf("host %s tells for seconds and is not known: %+v", s.boot, a.Lost())
				}
			}
		})
	}
}

// alike returns hosts that compete for the same places among the newcomers.
func alike(a *Attributor, n int) (all []*sender) {
	const places = uint64(len(newcomers{}) * len(bucket{}))
	place := func(boot string) uint64 { return maphash.String(a.known.changes.seed, boot) % places }
	for i := 0; len(all) < n; i++ {
		if boot := fmt.Sprint("new", i); place(boot) == place("new0") {
			s := newSender()
			s.boot = boot
			all = append(all, s)
		}
	}
	return all
}

// TestSpared: no newcomer makes way for another that is about to have its turn.
func TestSpared(t *testing.T) {
	a := New(Config{})
	a.Tick(start)
	a.Tick(start.Add(time.Minute))
	now := a.known.clock
	b := bucket{1: {2, now - 300*time.Millisecond, now}, 2: {3, now - 400*time.Millisecond, now}, 3: {4, now - 500*time.Millisecond, now}}
	for _, x := range []struct {
		n    newcomer
		want bool
	}{
		{newcomer{}, true},
		{newcomer{1, now - time.Minute, now - 14*time.Second}, true}, // fell silent
		{newcomer{1, now, now}, true},                                // told once
		{newcomer{1, now - 2*time.Second, now}, true},                // had its turn
		{newcomer{1, now - time.Second/2, now}, false},
	} {
		b[0] = x.n
		switch got := b.spare(&a.known); {
		case got != nil && got != &b[0]:
			t.Errorf("%+v makes way, and is about to have its turn", *got)
		case (got != nil) != x.want:
			t.Errorf("%+v makes way: %v, want %v", x.n, got != nil, x.want)
		}
	}
}
