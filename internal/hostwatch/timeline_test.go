package hostwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/stall"
)

// on is an event of thread tid at so many microseconds.
func on(us, tid int, k kind, state uint32) event {
	return event{at: stall.Instant(us * 1000), tid: int32(tid), kind: k, state: state}
}

// span is from and to in microseconds.
func span(from, to int) stall.Span {
	return stall.Span{Start: stall.Instant(from * 1000), End: stall.Instant(to * 1000)}
}

func TestVerdict(t *testing.T) {
	const sleeps = 1
	for _, test := range []struct {
		name                          string
		events                        []event
		doubt, disk                   bool
		denied, mixed, paged, covered []stall.Span
		delay                         time.Duration
		partly                        bool // not every thread is known
	}{
		{name: "nobody stirs", covered: []stall.Span{span(0, 1000)}},
		{
			name:    "woken, and run 100 us later",
			events:  []event{on(100, 1, woken, 0), on(200, 1, in, 0), on(300, 1, out, sleeps)},
			denied:  []stall.Span{span(100, 200)},
			covered: []stall.Span{span(0, 1000)}, delay: 100 * time.Microsecond,
		},
		{
			name: "another CPU puts it there later",
			events: []event{
				on(100, 1, waking, 0), on(180, 1, woken, 0), on(200, 1, in, 0), on(250, 1, waking, 0), on(251, 1, woken, 0), on(300, 1, out, sleeps),
			},
			denied:  []stall.Span{span(100, 200)},
			covered: []stall.Span{span(0, 1000)}, delay: 20 * time.Microsecond,
		},
		{
			name: "woken on its way to sleep",
			events: []event{
				on(10, 1, woken, 0), on(11, 1, in, 0), on(100, 1, waking, 0), on(101, 1, out, sleeps), on(110, 1, woken, 0), on(200, 1, in, 0), on(300, 1, out, sleeps),
			},
			denied:  []stall.Span{span(110, 200)},
			covered: []stall.Span{span(0, 1000)}, delay: 91 * time.Microsecond,
		},
		{
			name:    "woken, and run at once",
			events:  []event{on(100, 1, woken, 0), on(105, 1, in, 0), on(300, 1, out, sleeps)},
			covered: []stall.Span{span(0, 1000)}, delay: 5 * time.Microsecond,
		},
		{
			name: "preempted",
			events: []event{
				on(10, 1, woken, 0), on(11, 1, in, 0), on(300, 1, out, 0), on(500, 1, in, 0),
			},
			denied:  []stall.Span{span(300, 500)},
			covered: []stall.Span{span(0, 1000)}, delay: 201 * time.Microsecond,
		},
		{
			name: "one waits while another runs",
			events: []event{
				on(10, 1, woken, 0), on(11, 1, in, 0),
				on(300, 2, woken, 0), on(600, 2, in, 0), on(700, 2, out, sleeps),
			},
			mixed:   []stall.Span{span(300, 600)},
			covered: []stall.Span{span(0, 300), span(600, 1000)}, delay: 301 * time.Microsecond,
		},
		{
			name: "one waits, another runs for a part of it",
			events: []event{
				on(300, 2, woken, 0), on(400, 1, woken, 0), on(400, 1, in, 0), on(500, 1, out, sleeps),
				on(600, 2, in, 0), on(700, 2, out, sleeps),
			},
			denied:  []stall.Span{span(300, 400), span(500, 600)},
			mixed:   []stall.Span{span(400, 500)},
			covered: []stall.Span{span(0, 400), span(500, 1000)}, delay: 300 * time.Microsecond,
		},
		{
			name: "one hands over to another while a third waits",
			events: []event{
				on(10, 1, woken, 0), on(11, 1, in, 0), on(20, 3, woken, 0), on(100, 2, woken, 0),
				on(200, 1, out, sleeps), on(202, 2, in, 0), on(300, 3, in, 0), on(400, 2, out, sleeps), on(500, 3, out, sleeps),
			},
			mixed:   []stall.Span{span(20, 300)},
			covered: []stall.Span{span(0, 20), span(300, 1000)}, delay: (1 + 102 + 280) * time.Microsecond,
		},
		{
			name:    "still waiting at the end",
			events:  []event{on(900, 1, woken, 0)},
			denied:  []stall.Span{span(900, 1000)},
			covered: []stall.Span{span(0, 1000)}, delay: 100 * time.Microsecond,
		},
		{
			name:    "woken again while it runs",
			events:  []event{on(10, 1, woken, 0), on(11, 1, in, 0), on(200, 1, woken, 0), on(300, 1, out, sleeps)},
			covered: []stall.Span{span(0, 1000)}, delay: time.Microsecond,
		},
		{
			name:    "gone",
			events:  []event{on(10, 1, woken, 0), on(11, 1, in, 0), on(200, 1, out, dead), on(300, 2, out, dead)},
			covered: []stall.Span{span(0, 1000)}, delay: time.Microsecond,
		},
		{
			name:   "events were lost, or the hypervisor stole",
			events: []event{on(100, 1, woken, 0), on(200, 1, in, 0), on(300, 1, out, sleeps)},
			doubt:  true, denied: []stall.Span{span(100, 200)}, delay: 100 * time.Microsecond,
		},
		{
			name:   "a page came from disk",
			events: []event{on(100, 1, in, 0), on(200, 1, out, uninterruptible), on(400, 1, woken, 0), on(401, 1, in, 0), on(402, 1, out, sleeps)},
			disk:   true, paged: []stall.Span{span(200, 400)}, covered: []stall.Span{span(0, 1000)}, delay: time.Microsecond,
		},
		{
			name: "a page came from disk while another thread ran",
			events: []event{
				on(100, 1, in, 0), on(200, 1, out, uninterruptible), on(250, 2, in, 0), on(300, 2, out, sleeps),
				on(400, 1, woken, 0), on(401, 1, in, 0), on(402, 1, out, sleeps),
			},
			disk: true, paged: []stall.Span{span(200, 250), span(300, 400)},
			covered: []stall.Span{span(0, 250), span(300, 1000)}, delay: time.Microsecond,
		},
		{
			name:    "a disk, but no fault",
			events:  []event{on(100, 1, in, 0), on(200, 1, out, uninterruptible), on(400, 1, woken, 0), on(401, 1, in, 0), on(402, 1, out, sleeps)},
			covered: []stall.Span{span(0, 1000)}, delay: time.Microsecond,
		},
		{
			name: "stopped, and let go",
			events: []event{
				on(100, 1, in, 0), on(200, 1, out, 0x104), on(250, 2, woken, 0), on(250, 2, in, 0), on(300, 2, out, 0x108),
				on(400, 1, woken, 0), on(401, 1, in, 0), on(402, 1, out, sleeps), on(600, 2, woken, 0), on(601, 2, in, 0), on(602, 2, out, dead),
			},
			covered: []stall.Span{span(0, 200), span(600, 1000)}, delay: 2 * time.Microsecond,
		},
		{
			name:    "frozen to the end",
			events:  []event{on(100, 1, in, 0), on(200, 1, out, 0x8000)},
			covered: []stall.Span{span(0, 200)},
		},
		{name: "more threads than the limit", events: []event{on(100, 7, in, 0), on(101, 8, in, 0)}, partly: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newTimeline(3, 10*time.Microsecond)
			l.put(1, blocked, 0)
			l.put(2, blocked, 0)
			for _, e := range test.events {
				l.take(e)
			}
			whole := l.end(1000 * 1000)
			var v verdict
			v.judge(l, span(0, 1000), test.doubt || !whole, test.disk)
			if whole == test.partly {
				t.Errorf("all threads are known: %v", whole)
			}
			for _, c := range []struct {
				name      string
				want, got []stall.Span
			}{{"denied", test.denied, v.denied}, {"mixed", test.mixed, v.mixed}, {"paged", test.paged, v.paged}, {"covered", test.covered, v.covered}} {
				if diff := cmp.Diff(c.want, c.got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.name, diff)
				}
			}
			if l.delay != test.delay {
				t.Errorf("delay: got %v, want %v", l.delay, test.delay)
			}
		})
	}
}

// TestWokenWhenNobodyKnows: a thread that was ready or running, and is woken again
// before it slept, may be either still.
func TestWokenWhenNobodyKnows(t *testing.T) {
	l := newTimeline(3, 10*time.Microsecond)
	l.put(1, unknown, 0)
	l.take(on(100, 1, woken, 0))
	l.take(on(100, 2, woken, 0)) // a new thread
	if got := [2]state{l.threads[1].state, l.threads[2].state}; got != [2]state{unknown, ready} {
		t.Errorf("states: got %v, want unknown and ready", got)
	}
}

// TestBatchesAreSeamless cuts the same events into batches at every instant:
// what is denied must not change.
func TestBatchesAreSeamless(t *testing.T) {
	events := []event{
		on(100, 1, woken, 0), on(200, 1, in, 0), on(300, 1, out, 0), on(450, 1, in, 0), on(500, 1, out, 1),
		on(600, 2, woken, 0), on(700, 2, in, 0), on(720, 1, woken, 0), on(780, 2, out, 1), on(900, 1, in, 0),
		on(910, 1, out, uninterruptible), on(960, 1, woken, 0), on(961, 1, in, 0),
	}
	for cut := 10; cut < 1000; cut += 10 {
		l := newTimeline(3, 10*time.Microsecond)
		var v verdict
		var denied, mixed, paged, delay time.Duration
		rest := events
		for _, b := range []stall.Span{span(0, cut), span(cut, 1000)} {
			for len(rest) > 0 && rest[0].at < b.End {
				l.take(rest[0])
				rest = rest[1:]
			}
			l.end(b.End)
			v.judge(l, b, false, true)
			denied, mixed, paged, delay = denied+sum(v.denied), mixed+sum(v.mixed), paged+sum(v.paged), delay+l.delay
			l.begin()
		}
		us := time.Microsecond
		if denied != (100+150+100+120)*us || mixed != 60*us || paged != 50*us || delay != (100+150+100+180+1)*us {
			t.Errorf("cut at %d us: denied %v, mixed %v, paged %v, delay %v", cut, denied, mixed, paged, delay)
		}
	}
}

// waited returns what was counted of a wait that goes on.
func (t *thread) waited() time.Duration {
	if t.state != ready {
		return 0
	}
	return t.given.Sub(max(t.since, t.queued))
}
