package otelgc

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestCollectionsMatchTheRuntime: no cycle is missed or told twice, whatever
// the fidelity, and the exact pauses of a thousand are as long as the runtime's.
func TestCollectionsMatchTheRuntime(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			m := startTest(t, WithExactBudget(budget))
			e := excess{runtime: make(map[uint64]time.Duration)}
			if budget > 0 {
				skipIfTraced(t)
				waitMarking(t, m)
			}
			const alone, together = 800, 400 // twice, more than the runtime remembers
			for range 2 {
				collect(alone/4, 1)
				e.collect(alone*3/4, 1)
				settle(t, m)
				e.compare(m)
				e.collect(together/2, runtime.GOMAXPROCS(0))
			}
			if budget > 0 {
				until(t, "a thousand exact cycles", func() bool { settle(t, m); e.collect(100, 1); return e.compare(m) >= 1000 })
				e.check(t)
			}
			before, after := uint64(0), uint64(1)
			for before != after { // until no cycle ends meanwhile
				before = cyclesTotal()
				settle(t, m)
				after = cyclesTotal()
			}
			before = m.cycles.first
			if got, want := m.Session().Collections(), after-before; got != want {
				t.Errorf("Session: %d collections, the runtime counts %d", got, want)
			}
			list, dropped := m.Collections(0)
			var kept uint64
			for i := range list {
				kept += uint64(list[i].Cycles)
				if i > 0 && list[i].Index != list[i-1].Index+uint64(list[i].Cycles) {
					t.Errorf("index %d follows %d", list[i].Index, list[i-1].Index)
				}
			}
			if kept+dropped != after-before {
				t.Errorf("Collections: %d kept and %d dropped, the runtime counts %d", kept, dropped, after-before)
			}
			c, ok := m.Last(gc.Background)
			if !ok || c.Index != list[len(list)-1].Index {
				t.Errorf("Last: got %d %v, want %d", c.Index, ok, list[len(list)-1].Index)
			}
		})
	}
}

// TestExactFollowsRequests: at budget 1 the requests are seen, their sums are
// whole, and forced collections are charged as pauses.
func TestExactFollowsRequests(t *testing.T) {
	var got shares
	m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
	// A request works until a whole collection has come and gone.
	s := serve(t, m, func() {
		for before := cyclesTotal(); cyclesTotal() < before+2; {
			garbage(1000)
		}
	})
	waitMarking(t, m)
	stop := collectAlways()
	const requests = 20
	for range requests {
		get(t, s)
	}
	stop()
	settle(t, m)
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.all) != requests {
		t.Fatalf("resolved %d windows, want %d", len(got.all), requests)
	}
	var sum stall.Share
	exact := 0
	for _, r := range got.all {
		whole := r.s.Uncertain + r.s.App + r.s.AppOrHost + r.s.Unseen
		for c, d := range r.s.Charged {
			whole += d
			sum.Charged[c] += d
		}
		if whole != r.s.Total {
			t.Errorf("shares sum to %v, the window is %v", whole, r.s.Total)
		}
		if r.s.Fidelity == stall.Exact {
			exact++
		}
		sum.Total += r.s.Total
		sum.Unseen += r.s.Unseen
	}
	if exact < requests/2 {
		t.Errorf("%d of %d windows were followed", exact, requests)
	}
	if sum.Charged[stall.GCPause] == 0 {
		t.Errorf("no pause was charged, though each request saw a collection: %v", sum)
	}
	t.Logf("total %v unseen %v charged %v", sum.Total, sum.Unseen, sum.Charged)
}

func TestExactRecords(t *testing.T) {
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	// However few a busy machine lets through, and whatever the heap triggers
	// in between.
	until(t, "25 exact records of forced collections", func() bool {
		for range 25 {
			runtime.GC()
		}
		settle(t, m)
		list, _ := m.Collections(0)
		n := 0
		for i := range list {
			// A generation may begin between the heap's last sample and the collection.
			if list[i].Fidelity == stall.Exact && list[i].Trigger == gc.TriggerForced && !list[i].Estimated.Has(gc.FieldHeapBefore) {
				n++
			}
		}
		return n >= 25
	})
	list, _ := m.Collections(0)
	for _, c := range list {
		if c.Fidelity != stall.Exact {
			continue
		}
		if c.TriggerSite == "" {
			t.Errorf("trigger %q at no site", c.Trigger)
		}
		if len(c.Pauses) < 2 {
			t.Errorf("%d pauses, want at least two", len(c.Pauses))
		}
		if c.Estimated.Has(gc.FieldPauses) {
			t.Errorf("estimated %v in an exact record", c.Estimated.Names())
		}
	}
}

func TestSecondStartIsRefused(t *testing.T) {
	startTest(t, WithExactBudget(0))
	if m, err := Start(); !errors.Is(err, ErrStarted) || m != nil {
		t.Errorf("second Start: got %v, %v, want nil and ErrStarted", m, err)
	}
}

func TestSessionSub(t *testing.T) {
	a := Session{PauseTotal: 3, AllocatedBytes: 5, GCCPU: 7}
	a.Cycles[gc.Background] = 4
	b := Session{PauseTotal: 1, AllocatedBytes: 2, GCCPU: 3}
	b.Cycles[gc.Background] = 1
	want := Session{PauseTotal: 2, AllocatedBytes: 3, GCCPU: 4}
	want.Cycles[gc.Background] = 3
	if diff := cmp.Diff(want, a.Sub(b)); diff != "" {
		t.Errorf("Sub (-want +got):\n%s", diff)
	}
}

func TestNilMonitor(t *testing.T) {
	var m *Monitor
	_ = m.Shutdown(context.Background())
	_ = m.Flush(context.Background())
	_, _ = m.Collections(0)
	_ = m.Session()
	h := http.NotFoundHandler()
	if m.Middleware(h) == nil {
		t.Error("a nil monitor's middleware is nil")
	}
}
