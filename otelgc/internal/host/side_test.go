package host

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") })

// newTestSide is a Side whose board told of this process up to upTo.
func newTestSide(t *testing.T, at, upTo stall.Instant, told ...stall.Interval) *Side {
	t.Helper()
	board := NewBoard(nil, board.Here(), testClock(t))
	board.Log = stall.NewLog(stall.NoOrigin, 100, 10)
	here := board.place
	for _, v := range told {
		v.Start, v.End = at+v.Start, at+v.End
		if v.Scope == stall.ScopeTarget && v.Owner.PID == 0 {
			v.Owner = stall.Owner{PID: here.PID, Created: here.Created}
		}
		board.Log.Add(v)
	}
	board.Log.Advance(at + upTo)
	watchedIn(board, at, stall.Span{End: upTo})
	return &Side{board: board, now: testClock(t).Now}
}

// watchedIn has the board say when this process was watched.
func watchedIn(board *Board, at stall.Instant, spans ...stall.Span) {
	here := board.place
	for _, s := range spans {
		board.watch(&stall.Interval{Start: at + s.Start, End: at + s.End, Scope: stall.ScopeTarget, Owner: stall.Owner{PID: here.PID, Created: here.Created}})
	}
}

func TestSide(t *testing.T) {
	const at, us = stall.Instant(1_000_000_000), stall.Instant(1000)
	target := func(from, to stall.Instant, c stall.Cause) stall.Interval {
		return stall.Interval{Start: from * us, End: to * us, Cause: c, Origin: stall.TargetWatch, Scope: stall.ScopeTarget}
	}
	other := target(100, 200, stall.HostPreempted)
	other.Owner = stall.Owner{PID: 1, Created: 1}
	cpu := target(100, 200, stall.HostSteal)
	cpu.Scope = stall.ScopeCPU
	machine := target(150, 180, stall.HostSteal)
	machine.Scope = stall.ScopeMachine
	unknown := target(100, 200, stall.HostUnknown)
	unknown.Scope = stall.ScopeMachine
	gone := target(300, 350, stall.HostSteal)
	gone.Scope = stall.ScopeMachine
	for _, test := range []struct {
		name       string
		slack      time.Duration
		upTo       stall.Instant
		told       []stall.Interval
		cpu, pages time.Duration // -1 for not known
	}{
		{"watched, and nothing", 0, 900, nil, 0, 0},
		{"nobody watched", 0, 50, nil, -1, -1},
		{"without a CPU", 0, 900, []stall.Interval{target(100, 200, stall.HostPreempted)}, 100 * time.Microsecond, 0},
		{"throttled, from before it", 0, 900, []stall.Interval{target(50, 150, stall.HostThrottled)}, 50 * time.Microsecond, 0},
		{"without a CPU, and nobody can say why", 0, 900, []stall.Interval{target(100, 200, stall.HostUnknown)}, 100 * time.Microsecond, 0},
		{"a page", 0, 900, []stall.Interval{target(200, 800, stall.HostFault)}, 0, 200 * time.Microsecond},
		{"a page, and the machine was gone", 0, 900, []stall.Interval{target(200, 800, stall.HostFault), gone}, 50 * time.Microsecond, 150 * time.Microsecond},
		{"the machine was gone all the while a page was waited for", 0, 900, []stall.Interval{target(310, 330, stall.HostFault), gone}, 50 * time.Microsecond, 0},
		{"another process, and one CPU", 0, 900, []stall.Interval{other, cpu}, 0, 0},
		{"twice the same", 0, 900, []stall.Interval{target(100, 200, stall.HostPreempted), machine}, 100 * time.Microsecond, 0},
		{"the machine, and nobody knows why", 0, 900, []stall.Interval{unknown}, 0, 0},
		{"within slack", 30 * time.Microsecond, 900, []stall.Interval{target(150, 250, stall.HostPreempted)}, 40 * time.Microsecond, 0},
		{"it may be elsewhere", 80 * time.Microsecond, 900, []stall.Interval{target(150, 250, stall.HostPreempted)}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newTestSide(t, at, test.upTo*us, test.told...)
			got := h.during(stall.Span{Start: at + 100*us, End: at + 400*us}, test.slack)
			if got.CPUWait.Or(-1) != test.cpu || got.PageWait.Or(-1) != test.pages {
				t.Errorf("without a CPU %v, without a page %v, want %v, %v", got.CPUWait.Or(-1), got.PageWait.Or(-1), test.cpu, test.pages)
			}
		})
	}
}

// TestSideOfTimeNobodyWatched: that nothing was taken is known only where
// somebody was sure of all the time; what was taken for certain always is.
func TestSideOfTimeNobodyWatched(t *testing.T) {
	const at, us = stall.Instant(1_000_000_000), stall.Instant(1000)
	span := func(from, to stall.Instant) stall.Span { return stall.Span{Start: from * us, End: to * us} }
	gone := stall.Interval{Start: 200 * us, End: 250 * us, Cause: stall.HostSteal, Origin: stall.ProbeSpin, Scope: stall.ScopeMachine}
	page := stall.Interval{Start: 200 * us, End: 250 * us, Cause: stall.HostFault, Origin: stall.TargetWatch, Scope: stall.ScopeTarget}
	for _, test := range []struct {
		name       string
		watched    []stall.Span
		slack      time.Duration
		told       []stall.Interval
		cpu, pages time.Duration // -1 for not known
	}{
		{"all of it", []stall.Span{span(50, 200), span(200, 500)}, 0, nil, 0, 0},
		{"a hole", []stall.Span{span(50, 200), span(201, 500)}, 0, nil, -1, -1},
		{"there, and sure of nothing", []stall.Span{span(50, 60), span(500, 500)}, 0, nil, -1, -1},
		{"sure of nothing since it began", []stall.Span{span(50, 50), span(500, 500)}, 0, nil, -1, -1},
		{"not where slack may put it", []stall.Span{span(50, 410)}, 20 * time.Microsecond, nil, -1, -1},
		{"begun too late", []stall.Span{span(150, 500)}, 0, nil, -1, -1},
		{"nobody, and the machine was gone", nil, 0, []stall.Interval{gone}, 50 * time.Microsecond, -1},
		{"a hole, and the machine was gone", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{gone}, 50 * time.Microsecond, -1},
		{"a hole, and a page", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{page}, -1, 50 * time.Microsecond},
		{"a hole, and the machine was gone while a page was waited for", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{gone, page}, 50 * time.Microsecond, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newTestSide(t, at, 0, test.told...)
			watchedIn(h.board, at, test.watched...)
			got := h.during(stall.Span{Start: at + 100*us, End: at + 400*us}, test.slack)
			if got.CPUWait.Or(-1) != test.cpu || got.PageWait.Or(-1) != test.pages {
				t.Errorf("without a CPU %v, without a page %v, want %v, %v", got.CPUWait.Or(-1), got.PageWait.Or(-1), test.cpu, test.pages)
			}
		})
	}
}

// TestSideTells: a collection and its pauses keep what was counted and what
// is certain, and a pause that is long for it is called so.
func TestSideFills(t *testing.T) {
	const at, ms = stall.Instant(1_000_000_000), stall.Instant(1_000_000)
	h := newTestSide(t, at, 10_000*ms, stall.Interval{
		Start: 5001 * ms, End: 5009 * ms, Cause: stall.HostPreempted, Origin: stall.TargetWatch, Scope: stall.ScopeTarget,
	})
	for i := range stall.Instant(60) {
		start := at + 100*ms*i + 50*ms
		h.history.Add(hostcount.Reading{
			Span:   stall.Span{Start: start, End: start + ms},
			Counts: hostcount.Counts{MajorFaults: uint64(i), Throttled: gc.Known(time.Duration(0)), Stolen: time.Duration(i) * 10 * time.Millisecond},
		})
	}
	collect := func(index uint64, start, long stall.Instant) gc.Collection {
		c := gc.Collection{
			Index: index, Cycles: 1, Kind: gc.Background, Start: gc.Known(at + start - ms), End: gc.Known(at + start + long),
			Pauses: []gc.Pause{{Start: at + start, End: at + start + long, EndMax: at + start + long}},
		}
		h.Fill(&c)
		return c
	}
	for i := range stall.Instant(20) {
		collect(uint64(i+1), 100*ms*(i+1), ms)
	}
	c := collect(21, 5000*ms, 10*ms)
	counted := gc.HostDuring{
		MajorFaults: gc.Known(uint64(1)), Throttled: gc.Known(time.Duration(0)), Stolen: gc.Known(10 * time.Millisecond),
		Over: gc.Known(101 * time.Millisecond), CPUWait: gc.Known(8 * time.Millisecond), PageWait: gc.Known(time.Duration(0)),
	}
	for name, got := range map[string]gc.HostDuring{"collection": c.HostDuring, "pause": c.Pauses[0].HostDuring} {
		if diff := cmp.Diff(counted, got, compareMaybe); diff != "" {
			t.Errorf("during the %s (-want +got):\n%s", name, diff)
		}
	}
	const want = "stolen CPU: paused 10.0 ms, 10 times the usual for its work, 8.00 ms of it without a CPU"
	if got := c.Slowed(); got != want {
		t.Errorf("what slowed it: got %q, want %q", got, want)
	}
}

// TestPassed: a collection waits for the board and for the counters, but a dead writer,
// and counters that cannot be read, keep nobody waiting.
func TestPassed(t *testing.T) {
	const ms = stall.Instant(1_000_000)
	at := testClock(t).Now()
	for _, test := range []struct {
		name                string
		open                bool
		board, counted, now stall.Instant
		want                stall.Instant
	}{
		{"the board has not told", true, 0, -1000 * ms, 200 * ms, 0},
		{"the board has told", true, 150 * ms, -1000 * ms, 300 * ms, 150 * ms},
		{"the board is gone", false, 150 * ms, -1000 * ms, 500 * ms, 500 * ms},
		{"the board is late", true, 150 * ms, -1000 * ms, 4000 * ms, 4000 * ms},
		{"counted before", false, 0, 100 * ms, 110 * ms, 100 * ms},
		{"counted long ago", false, 0, 100 * ms, 100*ms + stall.Instant(countEvery), 100*ms + stall.Instant(countEvery)},
		{"counted before the board told", true, 109 * ms, 100 * ms, 110 * ms, 100 * ms},
	} {
		h := newTestSide(t, at, 0)
		h.board.open.Store(test.open)
		h.board.Log.Advance(at + test.board)
		h.history.Add(hostcount.Reading{Span: stall.Span{Start: at + test.counted, End: at + test.counted + 1}})
		if got := h.Passed(at + test.now); got != at+test.want {
			t.Errorf("%s: passed %d, want %d", test.name, got-at, test.want)
		}
	}
}

// TestCount: a collection has the counters read soon after it, but not so often
// that they cost much; and the run delay, which is dear, more rarely.
func TestCount(t *testing.T) {
	root := fstest.MapFS{"proc/7/task/7/schedstat": {Data: []byte("100 200 3\n")}}
	for name, text := range map[string]string{
		"proc/7/stat":         "7 (a) R 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 17 18 19 4242 20 21\n",
		"proc/7/cgroup":       "0::/\n",
		"proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	} {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, err := hostcount.Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	const ms = stall.Instant(1_000_000)
	at := 1000 * ms
	h := &Side{now: func() stall.Instant { return at }, process: p, pace: pacer.New(testClock(t))}
	defer h.Close()
	for _, step := range []struct {
		name      string
		at, ended stall.Instant
		counted   bool
	}{
		{"the first", 1000, 0, true},
		{"none has ended", 1200, 0, false},
		{"one has", 1200, 1150, true},
		{"counted since", 1300, 1150, false},
		{"too soon again", 1240, 1220, false},
		{"soon again", 1255, 1220, true},
		{"it may not be over", 1400, 1400, false},
		{"not long ago", 2200, 0, false},
		{"long ago", 2255, 0, true},
	} {
		at = step.at * ms
		before := h.history.Last()
		if h.Count(at, step.ended*ms); (h.history.Last() != before) != step.counted {
			t.Errorf("%s: counted at %d, want %v", step.name, h.history.Last()/ms, step.counted)
		}
	}
	h.rest = time.Second / 2 // the last reading took long
	before := h.history.Last()
	if h.Count(at+400*ms, at+200*ms); h.history.Last() != before {
		t.Error("the counters are read again soon though that took long")
	}
	var r hostcount.Reading
	if h.readDelays(&r); r.RunDelay.Or(0) != 200 || h.delays <= at {
		t.Errorf("run delay %v, next at %d, want 200ns, and later than %d", r.RunDelay, h.delays, at)
	}
	for i := range countThreads {
		root[fmt.Sprintf("proc/7/task/%d/schedstat", 100+i)] = &fstest.MapFile{Data: []byte("1 1 1\n")}
	}
	r = hostcount.Reading{}
	if h.readDelays(&r); !r.RunDelay.IsZero() || h.delays != at.Add(manyEvery) {
		t.Errorf("run delay of too many threads %v, next at %d, want none, and %d", r.RunDelay, h.delays, at.Add(manyEvery))
	}
}

func testClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}
