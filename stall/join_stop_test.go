package stall

import "testing"

func TestStopsDelayOnlyWhoWantsToRun(t *testing.T) {
	parkedUntil := func(end Instant) Evidence {
		return Evidence{
			Seen:    []Span{{0, 9000 * us}},
			Process: []Interval{span(GCPause, 1200, 1300)},
			Track:   []StateSpan{state(StateRunning, 0, 1100), state(StateParked, 1100, end), state(StateRunning, end, 9000)},
		}
	}
	runJoinCases(t, []joinCase{
		{
			name: "running: it is not stopped yet, or runs again",
			e: with(seenAll(StateUnknown), func(e *Evidence) {
				e.Process = []Interval{span(GCPause, 1200, 1300), slack(10, span(RuntimeSuspension, 1500, 1600))}
				e.Track = []StateSpan{state(StateRunning, 0, 1210), state(StateRunnable, 1210, 1280), state(StateRunning, 1280, 9000)}
			}),
			want: parts{"gc.pause": 70, "overlapped gc.pause": 30, "overlapped runtime.suspension": 100, "app_or_host": 930},
		},
		{
			name: "running: it stops the world itself",
			e: with(seenAll(StateRunning), func(e *Evidence) {
				e.Process = []Interval{span(GCPause, 1200, 1300), span(RuntimeSuspension, 1500, 1600)}
				e.Own = []Interval{span(GCPause, 1200, 1300), span(RuntimeSuspension, 1500, 1600)}
			}),
			want: parts{"gc.pause": 100, "runtime.suspension": 100, "app_or_host": 800},
		},
		{
			name: "kept from running, nobody knows what for: but a stop has its time",
			e: with(seenAll(StateRunnable), func(e *Evidence) {
				e.Process = []Interval{span(GCPause, 1200, 1300)}
				e.Own = []Interval{span(RuntimeUnknown, 1100, 1500)}
			}),
			want: parts{"gc.pause": 100, "runtime.unknown": 300, "sched": 600},
		},
		{
			name: "a track that contradicts itself is awake",
			e: with(seenAll(StateRunning), func(e *Evidence) {
				e.Process = []Interval{span(GCPause, 1200, 1300)}
				e.Track = append(e.Track, state(StateParked, 1100, 1400))
			}),
			want: parts{"gc.pause": 100, "app_or_host": 900},
		},
		{
			name:   "before the handler the goroutine is not at it: in full",
			window: func(w *Window) { w.Arrival = 700 * us },
			e:      with(seenAll(StateRunning), func(e *Evidence) { e.Process = []Interval{span(GCPause, 800, 950)} }),
			want:   parts{"gc.pause": 150, "queue": 150, "app_or_host": 1000},
		},
		{
			name: "runnable: the stop has it, not the scheduler",
			e: with(seenAll(StateRunnable), func(e *Evidence) {
				e.Process = []Interval{span(RuntimeSuspension, 1200, 1300)}
				e.Own = []Interval{span(Sched, 1000, 2000)}
			}),
			want: parts{"runtime.suspension": 100, "sched": 900},
		},
		{
			name: "parked, and long after: it delayed nothing",
			e:    parkedUntil(1800),
			want: parts{"overlapped gc.pause": 100, "app": 700, "app_or_host": 300},
		},
		{
			name: "parked, woke right after: it may have been ready earlier",
			e:    parkedUntil(1350),
			want: parts{"uncertain": 100, "app": 150, "app_or_host": 750},
		},
		{
			name: "parked, woke a microsecond too late for that",
			e:    parkedUntil(1351),
			want: parts{"overlapped gc.pause": 100, "app": 251, "app_or_host": 749},
		},
		{
			name: "parked, woke in the stop",
			e:    parkedUntil(1250),
			want: parts{"uncertain": 50, "overlapped gc.pause": 50, "app": 100, "app_or_host": 850},
		},
		{
			name: "a track out of order, with overlap: the same",
			e: with(parkedUntil(1250), func(e *Evidence) {
				e.Track = []StateSpan{state(StateParked, 1000, 1220), state(StateParked, 1000, 1150), state(StateParked, 1000, 1130)}
			}),
			want: parts{"uncertain": 20, "gc.pause": 80, "app": 200, "unseen": 700},
		},
		{
			name:   "before the handler the goroutine is not at it: in full",
			window: func(w *Window) { w.Arrival = 700 * us },
			e: with(seenAll(StateParked), func(e *Evidence) {
				e.Process = []Interval{span(GCPause, 800, 950)}
				e.Host = []Interval{hostGap(HostSteal, ScopeMachine, Owner{}, 950, 1050)}
			}),
			want: parts{"gc.pause": 150, "host.steal": 50, "queue": 100, "app": 1000},
		},
	})
}

func TestSlackIsNotCharged(t *testing.T) {
	runJoinCases(t, []joinCase{
		{
			name: "wherever it is, it is in the window: certain as a whole",
			e:    Evidence{Process: []Interval{slack(200, span(GCPause, 1400, 1500))}},
			want: parts{"gc.pause": 100, "unseen": 900},
		},
		{
			name: "it may begin before the window: what is left whatever the place",
			e:    Evidence{Process: []Interval{slack(30, span(GCPause, 1010, 1110))}},
			want: parts{"gc.pause": 40, "uncertain": 60, "unseen": 900},
		},
		{
			name: "more slack than length: nothing is certain",
			e:    Evidence{Process: []Interval{slack(60, span(GCPause, 1010, 1110))}},
			want: parts{"uncertain": 100, "unseen": 900},
		},
		{
			name: "it may lie in the window, but nominally does not",
			e:    Evidence{Process: []Interval{slack(60, span(GCPause, 900, 1000))}},
			want: parts{"unseen": 1000},
		},
		{
			name: "what is certain of another goes before what is uncertain of this",
			e: Evidence{
				Process: []Interval{slack(60, span(GCPause, 1010, 1110))},
				Own:     []Interval{span(Sched, 1050, 1200)},
			},
			want: parts{"uncertain": 40, "sched": 150, "unseen": 810},
		},
		{
			name: "in parked time nothing is in doubt",
			e: with(seenAll(StateParked), func(e *Evidence) {
				e.Process = []Interval{slack(60, span(GCPause, 1010, 1110))}
			}),
			want: parts{"app": 1000},
		},
	})
}
