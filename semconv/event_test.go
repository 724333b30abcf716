package semconv

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func values(all []Attr) map[string]any {
	m := make(map[string]any)
	for _, a := range all {
		m[a.Key] = a.Value
	}
	return m
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	for name, c := range map[string]struct{ got, want []Attr }{
		"event": {AppendEvent(nil, &Occurrence{End: 5, Origin: stall.GCWatch}), []Attr{
			{AttrEnd, int64(5)}, {AttrSlack, int64(0)}, {AttrSource, "gcwatch"},
		}},
		"suspension": {AppendSuspension(nil, &Suspension{}), []Attr{{AttrFidelity, "cycle"}}},
		"gap": {AppendGap(nil, &Gap{Interval: stall.Interval{Cause: stall.HostSteal, Scope: stall.ScopeMachine, Origin: stall.ProbeSpin}}), []Attr{
			{AttrCause, "host.steal"}, {AttrScope, "machine"}, {AttrMode, "spin"},
		}},
		"status": {AppendStatus(nil, &Status{}), []Attr{
			{AttrDroppedCount, int64(0)}, {AttrDroppedDuration, 0.0}, {AttrWallOffset, int64(0)}, {AttrWallError, int64(0)},
		}},
		"collection": {AppendCollection(nil, &gc.Collection{}), []Attr{
			{AttrGCTrigger, "unknown"}, {AttrGCCycles, int64(0)}, {AttrFidelity, "cycle"},
		}},
		"text that is no UTF-8": {AppendSuspension(nil, &Suspension{Caller: "main\xff.f"}), []Attr{
			{AttrCodeFunction, "main\uFFFD.f"}, {AttrFidelity, "cycle"},
		}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestColumns: of an array parallel to others what is not known is -1, and an array
// of which nothing is known is not there.
func TestColumns(t *testing.T) {
	got := values(AppendCollection(nil, &gc.Collection{
		Generations: []gc.Generation{{ID: gc.Gen0, SizeAfter: gc.Known(gc.Bytes(5))}, {ID: gc.POH}},
		Pauses:      []gc.Pause{{Start: 1, End: 3}, {Start: 4, End: 5, EndMax: 7, Suspend: gc.Known(time.Nanosecond)}},
	}))
	for key, want := range map[string]any{
		AttrGCGenerations:                 []string{"gen0", "poh"},
		AttrGCPartPrefix + "size.after":   []int64{5, -1},
		AttrGCPartPrefix + "budget":       nil,
		AttrPauseEndMax:                   []int64{3, 7},
		AttrPauseSuspend:                  []int64{-1, 1},
		AttrPauseHostPrefix + "page_wait": nil,
		AttrPausePhase:                    []string{"unknown", "unknown"},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// TestListsAreBounded: of too many pauses the first are sent, and of too many unseen
// spans the last reaches to the end of all.
func TestListsAreBounded(t *testing.T) {
	c := values(AppendCollection(nil, &gc.Collection{Pauses: make([]gc.Pause, 2*MaxPauses)}))
	if got := len(c[AttrPauseStart].([]int64)); got != MaxPauses {
		t.Errorf("%d pauses, want %d", got, MaxPauses)
	}
	unseen := make([]stall.Span, 2*MaxUnseen)
	for i := range unseen {
		unseen[i] = stall.Span{Start: stall.Instant(10 * i), End: stall.Instant(10*i + 1)}
	}
	ends := values(AppendStatus(nil, &Status{Unseen: unseen}))[AttrUnseenEnd].([]int64)
	if got, want := ends[len(ends)-1], int64(unseen[len(unseen)-1].End); len(ends) != MaxUnseen || got != want {
		t.Errorf("%d spans up to %d, want %d up to %d", len(ends), got, MaxUnseen, want)
	}
}

// TestSums: every nanosecond of a request is counted once, and no sum ever falls.
func TestSums(t *testing.T) {
	var sums Sums
	share := &stall.Share{Total: 6 * time.Millisecond, App: 5 * time.Millisecond, Fidelity: stall.Exact}
	share.Charged[stall.GCPause] = time.Millisecond
	sums.Add(share, 1, gc.Background, true)
	sums.Add(share, 0, gc.Background, true)
	sums.Add(share, 7, gc.FullBlocking, false)
	want := Sum{}
	want.Hits[0][gc.NoKind] = Hits{1, share.Total}
	want.Hits[1][gc.Background] = Hits{1, share.Total}
	want.Owned[App], want.Owned[stall.GCPause] = 2*share.App, 2*time.Millisecond
	if diff := cmp.Diff(want, sums[2][stall.Exact]); diff != "" {
		t.Errorf("le_10ms (-want +got):\n%s", diff)
	}
	want = Sum{}
	want.Hits[2][gc.FullBlocking] = Hits{1, share.Total}
	want.Owned[App], want.Owned[stall.GCPause] = share.App, time.Millisecond
	if diff := cmp.Diff(want, sums[2][Unwatched]); diff != "" {
		t.Errorf("le_10ms, unwatched (-want +got):\n%s", diff)
	}
	long := &stall.Share{Total: math.MaxInt64 - 1, Unseen: math.MaxInt64 - 1}
	sums.Add(long, 0, gc.NoKind, true)
	sums.Add(long, 0, gc.NoKind, true)
	more := sums[7][stall.Cycle]
	more.Add(&more)
	if got := more.Owned[Unseen]; got != math.MaxInt64 {
		t.Errorf("unseen: got %v, want what a Duration holds", got)
	}
}
