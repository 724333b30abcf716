package otelgc

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestCollectionsWaitForTheBoard: what the machine did in a pause is told a
// little later, but a dead writer keeps nobody waiting.
func TestCollectionsWaitForTheBoard(t *testing.T) {
	b, r := newTestTimeline()
	now := testClock(t).Now()
	h := newTestHostSide(t, now, 0)
	b.learnUnseen(now.Add(time.Second)) // no exact source
	noticed(r, gc.Collection{Index: 1, Cycles: 1, End: gc.Known(now.Add(100 * time.Millisecond))})
	h.board.open.Store(true)
	if got := settlePassed(r, now.Add(200*time.Millisecond), h.passed(now.Add(200*time.Millisecond))); len(got) != 0 {
		t.Errorf("settled before the board told: %v", got)
	}
	if got, want := r.Newest(), now.Add(100*time.Millisecond); got != want {
		t.Errorf("newest: got %d, want %d", got, want)
	}
	h.board.log.Advance(now.Add(150 * time.Millisecond))
	if got := settlePassed(r, now.Add(300*time.Millisecond), h.passed(now.Add(300*time.Millisecond))); len(got) != 1 {
		t.Errorf("not settled when the board had told")
	}
	noticed(r, gc.Collection{Index: 2, Cycles: 1, End: gc.Known(now.Add(400 * time.Millisecond))})
	h.board.open.Store(false)
	if got := settlePassed(r, now.Add(500*time.Millisecond), h.passed(now.Add(500*time.Millisecond))); len(got) != 1 {
		t.Errorf("a board that is gone keeps a collection waiting")
	}
}

// TestCollectionsWaitForTheCounters: what was counted around a collection is
// known when it is told, but counters that cannot be read keep nobody waiting.
func TestCollectionsWaitForTheCounters(t *testing.T) {
	now := testClock(t).Now()
	h := newTestHostSide(t, now, 0)
	count := func(at stall.Instant) {
		h.history.Add(hostcount.Reading{Span: stall.Span{Start: at, End: at + 1}})
	}
	for i, last := range []struct {
		counted time.Duration
		told    int
	}{{100 * time.Millisecond, 0}, {102 * time.Millisecond, 1}, {-countEvery, 1}} {
		b, r := newTestTimeline()
		b.learnUnseen(now.Add(time.Second)) // no exact source
		h.history = hostcount.History{}
		count(now.Add(last.counted))
		noticed(r, gc.Collection{Index: uint64(i), Cycles: 1, End: gc.Known(now.Add(100 * time.Millisecond))})
		if got := settlePassed(r, now.Add(110*time.Millisecond), h.passed(now.Add(110*time.Millisecond))); len(got) != last.told {
			t.Errorf("counted at %v: %d collections told, want %d", last.counted, len(got), last.told)
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
	h := &hostSide{now: func() stall.Instant { return at }, process: p, pace: newPacer(testClock(t))}
	defer h.close()
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
		{"long ago", 1505, 0, true},
	} {
		at = step.at * ms
		before := h.history.Last()
		if h.count(at, step.ended*ms); (h.history.Last() != before) != step.counted {
			t.Errorf("%s: counted at %d, want %v", step.name, h.history.Last()/ms, step.counted)
		}
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
