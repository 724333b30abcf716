package demo

import (
	"os"
	"testing"
	"time"

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

// TestShortOfForces: fewer collections than were to be forced are said, with what
// is known of the reason; enough of them are not.
func TestShortOfForces(t *testing.T) {
	const want = "The service was to force 80 collections a second, and came to 45: its threads waited 9.00 s for a CPU, all in all, in 10.0 s."
	for forced, said := range map[uint64]bool{450: true, 499: true, 500: false, 800: false} {
		r := runner{Options: Options{Inject: InjectForcedGC}, served: 10 * time.Second}
		r.account.farewell.Forced = forced
		r.followed.lasted, r.followed.totals.RunDelay = r.served, 9*time.Second
		notes := r.warnings(&blame.Report{Injected: r.injected()}, jitterprobe.Summary{}, 0, 0)
		if (len(notes) > 0) != said || forced == 450 && notes[0] != want {
			t.Errorf("%d forced: %q, want a note: %v", forced, notes, said)
		}
	}
}

func TestParseInject(t *testing.T) {
	for _, i := range []Inject{InjectNone, InjectForcedGC, InjectSTW, InjectHog} {
		if got, err := ParseInject(string(i)); err != nil || got != i {
			t.Errorf("ParseInject(%q) = %q, %v", i, got, err)
		}
	}
	if got, err := ParseInject("gc"); err == nil {
		t.Errorf("ParseInject(gc) = %q, want an error", got)
	}
}

func TestLiveHeapHasItsSize(t *testing.T) {
	h := newLiveHeap(1<<20, 1)
	held := 0
	for i, v := range h.entries {
		if v.left == nil || v.right == nil || v.peer == nil || v.key != uint64(i) || len(v.text) < shortestText {
			t.Fatalf("entry %d: %+v", i, v)
		}
		held += entrySize + len(v.text)
	}
	if held < 1<<20 || held > 1<<20+entrySize+longestText {
		t.Errorf("%d entries hold %d bytes, want 1 MiB and no more than one entry over it", len(h.entries), held)
	}
	if again := newLiveHeap(1<<20, 1); h.walk(3, 100) != again.walk(3, 100) {
		t.Error("a walk differs on a heap of the same seed")
	}
}
