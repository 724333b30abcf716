package stall_test

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const ms = stall.Instant(time.Millisecond)

// A request of 20 ms whose goroutine ran, was stopped, waited for the network,
// and ran again. Of the two pauses, one fell into the waiting and delayed nothing.
func ExampleJoiner_Join() {
	w := stall.Window{Start: 100 * ms, End: 120 * ms}
	e := stall.Evidence{
		Process: []stall.Interval{
			{Start: 102 * ms, End: 103 * ms, Cause: stall.GCPause},
			{Start: 110 * ms, End: 111 * ms, Cause: stall.GCPause},
		},
		Own: []stall.Interval{
			{Start: 115 * ms, End: 117 * ms, Cause: stall.GCAssist},
		},
		Track: []stall.StateSpan{
			{Start: 100 * ms, End: 102 * ms, State: stall.StateRunning},
			{Start: 102 * ms, End: 103 * ms, State: stall.StateRunnable},
			{Start: 103 * ms, End: 105 * ms, State: stall.StateRunning},
			{Start: 105 * ms, End: 114 * ms, State: stall.StateParked},
			{Start: 114 * ms, End: 120 * ms, State: stall.StateRunning},
		},
		Seen: []stall.Span{{Start: 0, End: 200 * ms}},
	}
	var j stall.Joiner
	var s stall.Share
	j.Join(&w, &e, &s)
	fmt.Println("gc:", s.GC(), s.Fidelity)
	fmt.Println("overlapped:", s.Overlapped[stall.GCPause])
	fmt.Println("app:", s.App, "app or host:", s.AppOrHost)
	// Output:
	// gc: 3ms exact
	// overlapped: 1ms
	// app: 9ms app or host: 8ms
}

// What the machine did is charged only where it is known to concern the
// process; what it did during a pause says why the pause was long.
func ExampleJoiner_Join_host() {
	w := stall.Window{
		Arrival: 98 * ms, Start: 100 * ms, End: 120 * ms,
		Place: &stall.Place{PID: 7, Created: 4711, Cgroups: []uint64{30, 3}},
	}
	e := stall.Evidence{
		Process: []stall.Interval{{Start: 105 * ms, End: 108 * ms, Cause: stall.GCPause}},
		Host: []stall.Interval{
			{Start: 106 * ms, End: 110 * ms, Cause: stall.HostThrottled, Scope: stall.ScopeCgroup, Owner: stall.Owner{Cgroup: 3}},
			{Start: 112 * ms, End: 113 * ms, Cause: stall.HostSteal, Scope: stall.ScopeCPU, CPU: 1},
		},
	}
	var j stall.Joiner
	var s stall.Share
	j.Join(&w, &e, &s)
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if s.Charged[c]+s.HostDuring[c]+s.Coincident[c] > 0 {
			fmt.Println(c, "charged:", s.Charged[c], "during another:", s.HostDuring[c], "coincident:", s.Coincident[c])
		}
	}
	fmt.Println("unseen:", s.Unseen, s.Fidelity)
	// Output:
	// gc.pause charged: 3ms during another: 0s coincident: 0s
	// host.throttled charged: 2ms during another: 2ms coincident: 0s
	// host.steal charged: 0s during another: 0s coincident: 1ms
	// queue charged: 2ms during another: 0s coincident: 0s
	// unseen: 15ms cycle
}

// Many requests on the same evidence.
func ExampleJoiner_All() {
	windows := []stall.Window{
		{Start: 10 * ms, End: 12 * ms},
		{Start: 11 * ms, End: 20 * ms},
		{Start: 30 * ms, End: 31 * ms},
	}
	e := stall.Evidence{Process: []stall.Interval{{Start: 11 * ms, End: 14 * ms, Cause: stall.GCPause}}}
	var j stall.Joiner
	j.All(windows, &e, func(i int, s *stall.Share) bool {
		fmt.Println(i, "at most", s.GC(), "of", s.Total)
		return true
	})
	// Output:
	// 0 at most 1ms of 2ms
	// 1 at most 3ms of 9ms
	// 2 at most 0s of 1ms
}

// What a source saw, as a reader keeps it: intervals, how far it has seen, and what it
// did not see.
func ExampleLog() {
	l := stall.NewLog(stall.GCWatch, 16, 16)
	l.Begin(100 * ms)
	l.Add(stall.Interval{Start: 110 * ms, End: 112 * ms, Cause: stall.GCPause})
	l.MarkUnseen(stall.Span{Start: 130 * ms, End: 150 * ms})
	l.Advance(200 * ms)
	all := stall.Span{Start: 100 * ms, End: 200 * ms}
	for _, v := range l.Intervals(nil, all) {
		fmt.Println(v.Cause, v.Duration())
	}
	fmt.Println("seen:", l.Coverage(all), "up to", l.Watermark())
	// Output:
	// gc.pause 2ms
	// seen: 0.8 up to 200000000
}

// Instants are those of the machine's monotonic clock, so that what two processes saw
// lies on one axis.
func ExampleClock() {
	clock, err := stall.NewClock()
	if err != nil {
		fmt.Println(err)
		return
	}
	from := clock.Now()
	time.Sleep(time.Millisecond)
	fmt.Println(clock.Now().Sub(from) >= time.Millisecond)
	// Output: true
}
