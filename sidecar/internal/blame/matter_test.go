package blame

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestMatter holds the sentence to its bounds: what was not watched is neither
// the collector's nor not.
func TestMatter(t *testing.T) {
	// tail returns 10,000 requests of 1 ms whose slowest hundred take 10 ms, and of
	// these the slowest ten 20 ms; gc has its share in each.
	tail := func(above99, above999 float64, f stall.Fidelity, rest func(*stall.Share) *time.Duration) []Case {
		var cases []Case
		for i := range 10_000 {
			d, part := ms, 0.0
			switch {
			case i >= 9_990:
				d, part = 20*ms, above999
			case i >= 9_900:
				d, part = 10*ms, above99
			}
			gc := time.Duration(part * float64(d))
			cases = append(cases, Case{Share: share(d, f, rest, map[stall.Cause]time.Duration{stall.GCAssist: gc})})
		}
		return cases
	}
	tests := []struct {
		name  string
		cases []Case
		want  string
	}{
		{"p99.9 only", tail(0.01, 0.4, stall.Exact, app),
			"GC matters for p99.9 but not for p99: it had 40 % of the requests' time above p99.9 and 8.1 % above p99."},
		{"both", tail(0.5, 0.5, stall.Exact, app),
			"GC matters for p99.9 and p99: it had 50 % of the requests' time above either."},
		{"neither", tail(0, 0, stall.Exact, app),
			"GC matters neither for p99.9 nor for p99: it had 0 % of the requests' time above either."},
		{"p99 only", tail(0.5, 0, stall.Exact, app),
			"GC matters for p99 but not for p99.9: it had 0 % of the requests' time above p99.9 and 41 % above p99."},
		{"nobody watched", tail(0.01, 0.01, stall.Cycle, unseen),
			"Whether GC matters for p99.9 or p99 is not known: it had an unknown part of the requests' time above either."},
		{"cycle, and the rest is known", tail(0.01, 0.05, stall.Cycle, appOrHost),
			"GC matters neither for p99.9 nor for p99: it had at most 5.0 % of the requests' time above p99.9 and at most 1.7 % above p99."},
		{"half was watched", halfUnseen(tail(0.999, 0.999, stall.Exact, app)),
			"GC matters for p99.9 and p99: it had at least 50 % of the requests' time above either."},
		{"waits while it worked", withSched(tail(0, 0, stall.Exact, app)),
			"Whether GC matters for p99.9 or p99 is not known: it had 0 % of the requests' time above either; waiting for a CPU while it worked had up to 50 %, which may be its doing."},
		{"queue, watched per cycle", withQueue(tail(0, 0.05, stall.Cycle, appOrHost)),
			"Whether GC matters for p99.9 or p99 is not known: it had at most 5.0 % of the requests' time above p99.9 and at most 0.9 % above p99; up to 50 % was queue watched per cycle only, in which a wait for it does not show: run with OTELGC_EXACT_BUDGET=1."},
		{"few", tail(0, 0, stall.Exact, app)[:500],
			"GC matters neither for p99 nor for p90: it had 0 % of the requests' time above either."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := summarize(tt.cases)
			if got := j.mattersFor(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// halfUnseen has every second request watched by nobody.
func halfUnseen(cases []Case) []Case {
	for i := 0; i < len(cases); i += 2 {
		cases[i].Share = share(cases[i].Share.Total, stall.Cycle, unseen, nil)
	}
	return cases
}

func withQueue(cases []Case) []Case {
	for i := range cases {
		s := &cases[i].Share
		s.Charged[stall.Queue], s.AppOrHost = s.AppOrHost/2, s.AppOrHost/2
	}
	return cases
}

func withSched(cases []Case) []Case {
	for i := range cases {
		s := &cases[i].Share
		s.Charged[stall.SchedGC], s.App = s.App/2, s.App/2
	}
	return cases
}

// TestStalls: the most first, and queue is none.
func TestStalls(t *testing.T) {
	s := share(10*ms, stall.Exact, app, map[stall.Cause]time.Duration{
		stall.Queue: 5 * ms, stall.GCPause: ms, stall.SchedGC: 2 * ms, stall.HostThrottled: ms,
	})
	want := []stall.Cause{stall.SchedGC, stall.GCPause, stall.HostThrottled}
	if diff := cmp.Diff(want, (&spent{Share: s}).stalls()); diff != "" {
		t.Errorf("stalls (-want +got):\n%s", diff)
	}
}

// TestQueued: that the collector worked while requests queued is said beside what
// chance would give, of exact requests only.
func TestQueued(t *testing.T) {
	cases := func(f stall.Fidelity, part time.Duration) []Case {
		var all []Case
		for i := range 1000 {
			d := time.Duration(i+1) * ms
			all = append(all, Case{
				Share:         share(d, f, appOrHost, map[stall.Cause]time.Duration{stall.Queue: part * d / 100}),
				QueueDuringGC: part * d / 100 * 9 / 10, ArrivedDuringGC: i%4 == 0,
			})
		}
		return all
	}
	want := " Of the queue above p99, where it was watched exactly, up to 90 % fell into collections; 25 % would be chance."
	for _, tt := range []struct {
		name  string
		cases []Case
		want  string
	}{
		{"exact", cases(stall.Exact, 50), want},
		{"cycle", cases(stall.Cycle, 50), ""},
		{"little queue", cases(stall.Exact, 5), ""},
		{"beside collections", apart(cases(stall.Exact, 50)), " Of the queue above p99, where it was watched exactly, none fell into collections; 25 % would be chance."},
	} {
		j := summarize(tt.cases)
		if got := j.queued(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// apart has all that queued do so between collections.
func apart(cases []Case) []Case {
	for i := range cases {
		cases[i].QueueDuringGC = 0
	}
	return cases
}
