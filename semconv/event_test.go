package semconv

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func values(all []slog.Attr) map[string]any {
	m := make(map[string]any)
	for _, a := range all {
		m[a.Key] = a.Value.Any()
	}
	return m
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	for name, c := range map[string]struct{ got, want []slog.Attr }{
		"event": {AppendEvent(nil, &Occurrence{End: 5, Origin: stall.GCWatch}), []slog.Attr{
			slog.Int64(AttrEnd, 5), slog.Int64(AttrSlack, 0), slog.String(AttrSource, "gcwatch"),
		}},
		"suspension": {AppendSuspension(nil, &Suspension{}), []slog.Attr{slog.String(AttrFidelity, "cycle")}},
		"gap": {AppendGap(nil, &Gap{Interval: stall.Interval{Cause: stall.HostSteal, Scope: stall.ScopeMachine, Origin: stall.ProbeSpin}}), []slog.Attr{
			slog.String(AttrCause, "host.steal"), slog.String(AttrScope, "machine"), slog.String(AttrMode, "spin"),
		}},
		"status": {AppendStatus(nil, &Status{}), []slog.Attr{
			slog.Int64(AttrDroppedCount, 0), slog.Float64(AttrDroppedDuration, 0), slog.Int64(AttrWallOffset, 0), slog.Int64(AttrWallError, 0),
		}},
		"collection": {AppendCollection(nil, &gc.Collection{}), []slog.Attr{
			slog.String(AttrGCTrigger, "unknown"), slog.Int64(AttrGCCycles, 0), slog.String(AttrFidelity, "cycle"),
		}},
		"text that is no UTF-8": {AppendSuspension(nil, &Suspension{Caller: "main\xff.f"}), []slog.Attr{
			slog.String(AttrCodeFunction, "main\uFFFD.f"), slog.String(AttrFidelity, "cycle"),
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

// attrs are attributes as a decoder finds them.
type attrs map[string]any

func attrsOf(lists ...[]slog.Attr) attrs {
	m := make(attrs)
	for _, l := range lists {
		for k, v := range values(l) {
			m[k] = v
		}
	}
	return m
}

func (a attrs) Text(key string) string { s, _ := a[key].(string); return s }

func (a attrs) Int(key string) (int64, bool) { n, ok := a[key].(int64); return n, ok }

func (a attrs) Float(key string) (float64, bool) { f, ok := a[key].(float64); return f, ok }

func (a attrs) Ints(key string, most int) ([]int64, bool) {
	list, _ := a[key].([]int64)
	return list[:min(len(list), most)], len(list) <= most
}

// TestDecode: what an event was made from comes back.
func TestDecode(t *testing.T) {
	own := func(v stall.Interval) []slog.Attr {
		return AppendEvent(nil, &Occurrence{Start: v.Start, End: v.End, Slack: v.Slack, Origin: v.Origin})
	}
	stop := stall.Interval{Start: 10, End: 30, Slack: 2, Cause: stall.RuntimeSuspension, Origin: stall.GCWatch, CPU: -1}
	gap := stall.Interval{
		Start: 10, End: 30, Slack: 2, Cause: stall.HostThrottled, Origin: stall.ProbeSpin, Scope: stall.ScopeCgroup,
		CPU: 3, Owner: stall.Owner{Cgroup: 77},
	}
	pauses := []stall.Interval{
		{Start: 10, End: 30, Slack: 1, Cause: stall.GCPause, Origin: stall.Dotnet, CPU: -1, Ref: 5},
		{Start: 40, End: 45, Slack: 2, Cause: stall.GCPause, Origin: stall.Dotnet, CPU: -1, Ref: 5},
	}
	status := Status{
		Origin: stall.GCWatch, Since: 5, At: 90, Watermark: 80, Unseen: []stall.Span{{Start: 6, End: 7}},
		Wall: stall.WallOffset{At: 90, Offset: time.Hour, Error: 3}, Cgroups: []uint64{9, 1},
	}
	traced := Traced{
		Span: stall.Span{Start: 10, End: 30}, Slack: 2, Task: "GET /",
		Share: stall.Share{Total: 20, App: 12, AppOrHost: 2, Unseen: 1, Covered: 19, Collections: 1, Fidelity: stall.Exact},
	}
	traced.Share.Charged[stall.GCPause], traced.Share.Charged[stall.Sched] = 4, 1
	partly := stall.Share{Total: 20, Unseen: 15, Fidelity: stall.Exact}
	partly.Charged[stall.GCPause] = 5
	for name, c := range map[string]struct {
		event string
		attrs attrs
		want  Record
	}{
		"suspension": {EventSuspension, attrsOf(own(stop), AppendSuspension(nil, &Suspension{Reason: "r"})), Record{Origin: stall.GCWatch, Intervals: []stall.Interval{stop}}},
		"gap":        {EventGap, attrsOf(own(gap), AppendGap(nil, &Gap{Interval: gap})), Record{Origin: stall.ProbeSpin, Intervals: []stall.Interval{gap}}},
		"collection": {
			EventCollection,
			attrsOf(own(stall.Interval{Origin: stall.Dotnet}), AppendCollection(nil, &gc.Collection{
				Index: 5, Kind: gc.FullBlocking,
				Pauses: []gc.Pause{{Start: 10, End: 30, Slack: 1, EndMax: 33}, {Start: 40, End: 45, Slack: 2}},
			})),
			Record{Origin: stall.Dotnet, Intervals: pauses, EndMax: []stall.Instant{33, 45}, Kind: gc.FullBlocking},
		},
		"traced request": {
			EventTraced, attrsOf(own(stall.Interval{Start: 10, End: 30, Slack: 2, Origin: stall.GoTrace}), AppendTraced(nil, &traced)),
			Record{Origin: stall.GoTrace, Traced: &traced},
		},
		"traced request, part of it told": {
			EventTraced, attrs{AttrStart: int64(10), AttrEnd: int64(30), AttrFidelity: "exact", AttrStallPrefix + "gc.pause": 5e-9, AttrGCOverlap: "lots"},
			Record{Traced: &Traced{Span: traced.Span, Share: partly}},
		},
		"status": {
			EventSourceStatus, attrsOf(own(stall.Interval{Start: 5, End: 90, Origin: stall.GCWatch}), AppendStatus(nil, &status)),
			Record{Origin: stall.GCWatch, Status: status},
		},
	} {
		got, err := Decode(c.event, c.attrs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDecodeRefuses: what cannot be is an error that says what is wrong.
func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		attrs attrs
		want  error
	}{
		"a stop that ends before it began":       {EventSuspension, attrs{AttrStart: int64(5), AttrEnd: int64(4)}, ErrTime},
		"a stop of two hours":                    {EventSuspension, attrs{AttrStart: int64(5), AttrEnd: int64(2 * time.Hour)}, ErrTime},
		"a gap of no cause":                      {EventGap, attrs{AttrScope: "cpu"}, ErrCause},
		"a gap of no scope":                      {EventGap, attrs{AttrCause: "host.irq", AttrScope: "here"}, ErrCause},
		"a gap of a scope past the list":         {EventGap, attrs{AttrCause: "host.irq", AttrScope: stall.NumScopes.String()}, ErrCause},
		"pauses without ends":                    {EventCollection, attrs{AttrPauseStart: []int64{1}}, ErrTime},
		"too many pauses":                        {EventCollection, attrs{AttrPauseStart: make([]int64, MaxListed+1), AttrPauseEnd: make([]int64, MaxListed+1)}, ErrTime},
		"a request that ends before it began":    {EventTraced, attrs{AttrStart: int64(5), AttrEnd: int64(4), AttrFidelity: "exact"}, ErrTime},
		"a request that was not watched exactly": {EventTraced, attrs{AttrStart: int64(5), AttrEnd: int64(6), AttrFidelity: "cycle"}, ErrTime},
		"a request with more than its time":      {EventTraced, attrs{AttrStart: int64(5), AttrEnd: int64(6), AttrFidelity: "exact", AttrStallPrefix + "app": 1e-9, AttrStallPrefix + "unseen": 1e-9}, ErrTime},
		"a request with less than no time":       {EventTraced, attrs{AttrStart: int64(5), AttrEnd: int64(6), AttrFidelity: "exact", AttrStallPrefix + "app": -1e-9}, ErrTime},
		"a request with no number of seconds":    {EventTraced, attrs{AttrStart: int64(5), AttrEnd: int64(6), AttrFidelity: "exact", AttrStallPrefix + "app": math.NaN()}, ErrTime},
		"a status without wall time":             {EventSourceStatus, attrs{AttrStart: int64(1), AttrEnd: int64(2)}, ErrTime},
		"a watermark of the future":              {EventSourceStatus, attrs{AttrStart: int64(1), AttrEnd: int64(2), AttrWatermark: int64(3), AttrWallOffset: int64(0)}, ErrTime},
	} {
		if _, err := Decode(c.event, c.attrs); err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
