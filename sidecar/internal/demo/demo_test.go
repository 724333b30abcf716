package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestMain(m *testing.M) {
	if code, is := Role(); is { // this is a child of a test
		os.Exit(code)
	}
	noleak.Main(m)
}

const us = stall.Instant(time.Microsecond)

// TestBounds: whoever runs the demo for ten seconds has it back within thirty.
func TestBounds(t *testing.T) {
	if all := startLimit + 10*time.Second + load.Grace + endLimit; all >= 30*time.Second {
		t.Errorf("the parts of a run of 10 s are bounded by %v in all, want less than 30 s", all)
	}
}

// TestEvery: turns keep their rate, and leave the program half of its time.
func TestEvery(t *testing.T) {
	for _, tt := range []struct {
		took time.Duration // by each call
		want int           // calls in 10 s
	}{
		{0, 200},
		{20 * time.Millisecond, 200},
		{100 * time.Millisecond, 50},
		{time.Second, 5},
	} {
		t.Run(tt.took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				got := 0
				every(ctx, 50*time.Millisecond, func() {
					time.Sleep(tt.took)
					got++
				})
				if got < tt.want-1 || got > tt.want+1 {
					t.Errorf("%d calls that take %v in 10 s, want %d", got, tt.took, tt.want)
				}
			})
		})
	}
}

// TestEveryMakesUp: a turn that takes too long is followed by those that were missed.
func TestEveryMakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n := 0
		every(ctx, 50*time.Millisecond, func() {
			if n++; n == 1 {
				time.Sleep(90 * time.Millisecond)
			}
		})
		if n < 19 || n > 21 {
			t.Errorf("%d calls in 1 s, of which the first takes 90 ms, want 20", n)
		}
	})
}

// TestEveryForgets: of many turns that were missed only the last are made up for.
func TestEveryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		n := 0
		every(ctx, 50*time.Millisecond, func() {
			if n++; n == 1 {
				time.Sleep(time.Second)
			}
		})
		// 1 s for the call and 1 s of rest leave 3 s, and two turns that are made up for.
		if n < 60 || n > 65 {
			t.Errorf("%d calls in 5 s, of which the first takes 1 s, want 63", n)
		}
	})
}

func TestMatch(t *testing.T) {
	// The handler ran from 110 to 150 us for a request of 100 us, and the client
	// had the answer at 200 us. Two pauses of a collection lie in the handler, one
	// of another on the way back, and it was under way when the request arrived.
	w := stall.Window{Arrival: 100 * us, Start: 110 * us, End: 150 * us}
	s := stall.Share{Total: 50_000, AppOrHost: 20_000, Covered: 50_000, Pauses: 1, Collections: 1, LastCollection: 1, Fidelity: stall.Exact}
	s.Charged[stall.Queue] = 10_000
	s.Charged[stall.GCPause] = 20_000
	foreign := stall.Window{Start: 90 * us, End: 95 * us}
	foreignShare := stall.Share{Total: 5_000, Unseen: 5_000}
	a := tell(t, []message{
		greeting(),
		resolved(&foreign, &foreignShare),
		resolved(&w, &s),
		collected(&gc.Collection{Index: 2, Cycles: 1, Kind: gc.FullBlocking, Start: gc.Known(160 * us), End: gc.Known(190 * us), Pauses: []gc.Pause{{Start: 160 * us, End: 170 * us}}}),
		collected(&gc.Collection{Index: 1, Cycles: 1, Kind: gc.FullBlocking, Start: gc.Known(98 * us), End: gc.Known(140 * us), Pauses: []gc.Pause{{Start: 115 * us, End: 120 * us}, {Start: 125 * us, End: 140 * us}}}),
		parting(&farewell{GC: blame.Collections{Cycles: 2, RuntimeCycles: 2}}),
	})
	answers := []load.Answer{
		{Arrival: 100 * us, Ready: 101 * us, Sent: 101 * us, Receipt: 200 * us},
		{Arrival: 300 * us, Ready: 300 * us, Sent: 301 * us, Receipt: 340 * us},
	}
	m, err := match(answers, a, new(followed))
	if err != nil {
		t.Fatal(err)
	}

	var got blame.Case
	m.look(0, &got)
	want := blame.Case{
		Arrival: 100 * us, Latency: 100_000, Known: 50_000, Share: s, FullBlocking: true,
		QueueDuringGC: 40_000, ArrivedDuringGC: true,
	}
	want.Share.Collections, want.Share.LastCollection = 2, 2
	want.Share.Total = 100_000
	want.Share.Charged[stall.GCPause] += 10_000 // on the way back
	want.Share.Charged[stall.Queue] += 40_000
	want.Share.Pauses = 2
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request with an account (-want +got):\n%s", diff)
	}

	got = blame.Case{}
	m.look(1, &got)
	want = blame.Case{Arrival: 300 * us, Latency: 40_000, Known: 40_000, Share: stall.Share{Total: 40_000, Unseen: 40_000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request without an account (-want +got):\n%s", diff)
	}
	if m.matched(1) || !m.matched(0) {
		t.Errorf("matched: %v, %v, want true, false", m.matched(0), m.matched(1))
	}
}

// TestSlowed: what the machine made of the service's pauses comes from its last
// word into the report.
func TestSlowed(t *testing.T) {
	c := child{}
	c.last.GC.Slowed.Add(&gc.Collection{Index: 3, SlowedBy: gc.Paging, Pauses: []gc.Pause{{
		End: 2000 * us, HostDuring: gc.HostDuring{PageWait: gc.Known(time.Millisecond)},
	}}})
	r := runner{account: *tell(t, []message{greeting(), parting(&farewell{GC: c.last.GC})})}
	want := "0 by stolen CPU, 1 by paging; of them paused longest: collection 3: paging: paused 2.00 ms, 1.00 ms of it waiting for pages from disk"
	if got := r.account.farewell.GC.Slowed.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFewRequests: what fewer than ten requests above p99 come to is luck, which is
// said.
func TestFewRequests(t *testing.T) {
	const want = "p99 of 999 requests is the luck of a few: it wants 1,000 or more."
	for n, said := range map[int]bool{0: false, 999: true, 1000: false} {
		notes := new(runner).warnings(&blame.Report{Requests: n}, jitterprobe.Summary{}, 0, 0)
		if (len(notes) > 0) != said || said && notes[0] != want {
			t.Errorf("%d requests: %q, want a note: %v", n, notes, said)
		}
	}
}

// TestSharing: which CPUs are whose is said, as it explains most figures of a small machine.
func TestSharing(t *testing.T) {
	for want, c := range map[string]struct {
		cpus   int
		own    int
		others []int
		probe  jitterprobe.Summary
	}{
		"1 CPU, shared by the service, the load generator and the probe (periodic): they take it from each other": {1, 0, nil, jitterprobe.Summary{Mode: jitterprobe.Periodic}},
		"2 CPUs: CPU 0 for the load generator and the probe (periodic); CPU 1 for the service, GOMAXPROCS 1":      {2, 0, []int{1}, jitterprobe.Summary{Mode: jitterprobe.Periodic}},
		"8 CPUs: CPU 0 for the load generator, CPU 7 for the probe (spin); 6 CPUs for the service, GOMAXPROCS 1":  {8, 0, []int{1, 2, 3, 4, 5, 6}, jitterprobe.Summary{Mode: jitterprobe.Spin, CPU: 7}},
	} {
		r := runner{cpus: c.cpus, own: c.own, others: c.others}
		r.account.hello.GOMAXPROCS = 1
		if got := r.sharing(c.probe); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseInject(t *testing.T) {
	for _, i := range []Inject{InjectNone, InjectForcedGC, InjectSTW, InjectHog, InjectThrottle} {
		if got, err := ParseInject(string(i)); err != nil || got != i {
			t.Errorf("ParseInject(%q) = %q, %v", i, got, err)
		}
	}
	if got, err := ParseInject("gc"); err == nil {
		t.Errorf("ParseInject(gc) = %q, want an error", got)
	}
}

// TestShop: its catalog takes what it is to take, and an order depends on the seed alone.
func TestShop(t *testing.T) {
	const size = 1 << 20
	s := newShop(size, 1)
	if got, want := len(s.catalog), size/(int(unsafe.Sizeof(product{}))+8); got != want {
		t.Errorf("%d products in %d bytes, want %d", got, size, want)
	}
	ask := func(s *shop, id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/order?id="+id, nil))
		return w
	}
	for id := range 2 * bigEvery {
		want, got := ask(s, strconv.Itoa(id)), ask(newShop(size, 1), strconv.Itoa(id))
		if want.Code != http.StatusOK || want.Body.String() != got.Body.String() {
			t.Fatalf("order %d: %d %s, and of the same seed %d %s", id, want.Code, want.Body, got.Code, got.Body)
		}
	}
	if w := ask(s, "many"); w.Code != http.StatusBadRequest {
		t.Errorf("order without a number: status %d, want 400", w.Code)
	}
}

// TestHandlersThatCollect: with forced collections it is the big orders that force them.
func TestHandlersThatCollect(t *testing.T) {
	s := newShop(MinLiveHeap, 1)
	prepare(InjectForcedGC, s)
	for id := range 10 * bigEvery {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/order?id="+strconv.Itoa(id), nil))
	}
	if n := s.forced.Load(); n == 0 || n > 3*10 {
		t.Errorf("%d of %d orders collected, want about 10", n, 10*bigEvery)
	}
}
