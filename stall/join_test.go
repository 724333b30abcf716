package stall

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const us = Instant(time.Microsecond)

// request is a window of 1 ms, whose process is 7 in cgroups 30 and 3.
func request() Window {
	return Window{Start: 1000 * us, End: 2000 * us, Place: &Place{PID: 7, Created: 70, Cgroups: []uint64{30, 3}}}
}

// span gives the interval of cause c from a to b, in microseconds.
func span(c Cause, a, b Instant) Interval { return Interval{Start: a * us, End: b * us, Cause: c} }

func hostGap(c Cause, scope Scope, owner Owner, a, b Instant) Interval {
	return Interval{Start: a * us, End: b * us, Cause: c, Scope: scope, Owner: owner}
}

func slack(d Instant, v Interval) Interval {
	v.Slack = time.Duration(d * us)
	return v
}

func state(s State, a, b Instant) StateSpan { return StateSpan{a * us, b * us, s} }

// seenAll is evidence of a source that watched throughout, while the goroutine
// was in state s.
func seenAll(s State) Evidence {
	return Evidence{Seen: []Span{{0, 9000 * us}}, Track: []StateSpan{state(s, 0, 9000)}}
}

func with(e Evidence, change func(*Evidence)) Evidence {
	change(&e)
	return e
}

// parts are the figures of a share by name, in microseconds.
type parts map[string]int64

func partsOf(s *Share) parts {
	p := parts{}
	set := func(name string, d time.Duration) {
		if d != 0 {
			p[name] = d.Microseconds()
		}
	}
	set("uncertain", s.Uncertain)
	set("app", s.App)
	set("app_or_host", s.AppOrHost)
	set("unseen", s.Unseen)
	for c := range NumCauses {
		set(c.String(), s.Charged[c])
		set("overlapped "+c.String(), s.Overlapped[c])
		set("during: "+c.String(), s.HostDuring[c])
		set("coincident "+c.String(), s.Coincident[c])
	}
	return p
}

type joinCase struct {
	name   string
	window func(*Window)
	e      Evidence
	want   parts
}

func runJoinCases(t *testing.T, cases []joinCase) {
	t.Helper()
	var j Joiner
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := request()
			if c.window != nil {
				c.window(&w)
			}
			var s Share
			j.Join(&w, &c.e, &s)
			if diff := cmp.Diff(c.want, partsOf(&s)); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatNobodySaw(t *testing.T) {
	runJoinCases(t, []joinCase{
		{name: "no evidence at all", want: parts{"unseen": 1000}},
		{
			name: "cycle fidelity: overlap is all there is",
			e:    Evidence{Process: []Interval{span(GCPause, 900, 1100)}},
			want: parts{"gc.pause": 100, "unseen": 900},
		},
		{
			name: "watched, but the goroutine was not followed",
			e:    Evidence{Seen: []Span{{0, 9000 * us}}},
			want: parts{"unseen": 1000},
		},
		{
			name: "an unknown state is none",
			e:    seenAll(StateUnknown),
			want: parts{"unseen": 1000},
		},
		{
			name: "followed, but the runtime was not watched",
			e:    Evidence{Track: []StateSpan{state(StateRunning, 0, 9000)}},
			want: parts{"unseen": 1000},
		},
		{
			name: "watched for a part",
			e:    with(seenAll(StateRunning), func(e *Evidence) { e.Seen[0].End = 1400 * us }),
			want: parts{"app_or_host": 400, "unseen": 600},
		},
	})
}

func TestWhatIsLeftOver(t *testing.T) {
	runJoinCases(t, []joinCase{
		{name: "parked by its own doing", e: seenAll(StateParked), want: parts{"app": 1000}},
		{name: "ran, nobody watched the machine", e: seenAll(StateRunning), want: parts{"app_or_host": 1000}},
		{
			name: "ran, the machine watched for a part",
			e:    with(seenAll(StateRunning), func(e *Evidence) { e.TargetSeen = []Span{{1500 * us, 3000 * us}} }),
			want: parts{"app": 500, "app_or_host": 500},
		},
		{name: "runnable, and no interval says so", e: seenAll(StateRunnable), want: parts{"sched": 1000}},
		{
			name:   "before and after the handler",
			window: func(w *Window) { w.Arrival, w.Receipt = 700*us, 2100*us },
			e:      seenAll(StateParked),
			want:   parts{"queue": 400, "app": 1000},
		},
		{
			name:   "an arrival after the start is nonsense",
			window: func(w *Window) { w.Arrival, w.Receipt = 1200*us, 1800*us },
			e:      seenAll(StateParked),
			want:   parts{"app": 1000},
		},
	})
}

func TestFidelityAndCoverage(t *testing.T) {
	type got struct {
		Pauses   int
		Covered  time.Duration
		Fidelity Fidelity
	}
	pauses := []Interval{span(GCPause, 900, 1000), span(GCPause, 999, 1001), span(GCPause, 1999, 2001), span(GCPause, 2000, 2001), span(RuntimeSuspension, 1100, 1200)}
	for _, c := range []struct {
		name   string
		window Window
		e      Evidence
		want   got
	}{
		{"watched throughout", request(), with(seenAll(StateRunning), func(e *Evidence) { e.Process = pauses }), got{2, time.Millisecond, Exact}},
		{"not followed throughout", request(), Evidence{Seen: []Span{{0, 9000 * us}}, Track: []StateSpan{state(StateRunning, 0, 1999)}}, got{0, time.Millisecond, Cycle}},
		{"not watched before the handler", Window{Arrival: 500 * us, Start: 1000 * us, End: 2000 * us}, with(seenAll(StateRunning), func(e *Evidence) { e.Seen[0].Start = 800 * us }), got{0, 1200 * time.Microsecond, Cycle}},
		{"empty", Window{Start: 1000 * us, End: 1000 * us}, Evidence{Process: []Interval{span(GCPause, 900, 1100)}}, got{0, 0, Exact}},
		{"ends before it starts", Window{Start: 1000 * us, End: 900 * us, Receipt: 2000 * us}, seenAll(StateRunning), got{0, 0, Cycle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var j Joiner
			var s Share
			j.Join(&c.window, &c.e, &s)
			if diff := cmp.Diff(c.want, got{s.Pauses, s.Covered, s.Fidelity}); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
		})
	}
}
