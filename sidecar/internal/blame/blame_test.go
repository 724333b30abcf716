package blame

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

func TestPrint(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := r.Print(&got); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".txt", got.Bytes(), *update)
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textfmt.Width {
					t.Errorf("line of %d columns, at most %d:\n%s", n, textfmt.Width, line)
				}
			}
		})
	}
}

func TestDocument(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(r.Document(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".json", append(got, '\n'), *update)
			requests := 0
			for _, a := range r.Document().Attribution {
				requests += a.Requests
				sum := 0.0
				for _, f := range a.Share {
					sum += f
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Errorf("shares of %s (%s) sum to %v, want 1", a.Bucket, a.Fidelity, sum)
				}
			}
			if requests != r.Requests {
				t.Errorf("bands hold %d requests, want all %d", requests, r.Requests)
			}
		})
	}
}

// TestPrintNarrow: in a terminal of 80 columns every line has its place.
func TestPrintNarrow(t *testing.T) {
	for name, r := range reports() {
		if g := r.Summary.shares(textfmt.Narrow); g.Width() > textfmt.Narrow {
			t.Errorf("%s: the table of who had the time takes %d columns", name, g.Width())
		}
		if g := r.Summary.delays(); g != nil && name != "every-cause" && g.Width() > textfmt.Narrow {
			t.Errorf("%s: the table of what garbage collection cost takes %d columns", name, g.Width())
		}
	}
}

// TestBlameNamesWhoDidIt holds the sentence to its rules: the cause with the
// most time is named, unseen time is never anybody's, and figures of cycle
// fidelity are "at most" unless some of the time is uncertain.
func TestBlameNamesWhoDidIt(t *testing.T) {
	tests := []struct {
		name      string
		share     stall.Share
		want, not []string
	}{
		{"assist", share(10*ms, stall.Exact, app, map[stall.Cause]time.Duration{stall.GCAssist: 7 * ms}),
			[]string{"To blame for p99: garbage collection (gc.assist: the request marked for it), with 70 %", "next the program itself, with 30 %."}, []string{"at most", "unseen"}},
		{"app", share(10*ms, stall.Exact, app, nil),
			[]string{"To blame for p99: the program itself, with 100 %", "garbage collection had none of it."}, []string{"at most"}},
		{"cycle", share(10*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.GCPause: 6 * ms}),
			[]string{"To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with at most 60 %", "not what held them up", "40 % was unseen", "garbage collection had an unknown part."}, []string{"the program"}},
		{"cycle, up to all", share(10*ms, stall.Cycle, appOrHost, map[stall.Cause]time.Duration{stall.GCPause: 10 * ms}),
			[]string{"To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with up to 100 %", "garbage collection had an unknown part."}, nil},
		{"cycle, another stop", share(10*ms, stall.Cycle, appOrHost, map[stall.Cause]time.Duration{stall.RuntimeSuspension: 7 * ms}),
			[]string{"To blame for p99: perhaps stops of the runtime that were not for garbage collection, with at most 70 %", "next the program or the machine (it was not watched which), with 30 %"}, nil},
		{"cycle, and some uncertain", share(10*ms, stall.Cycle, uncertain, map[stall.Cause]time.Duration{stall.GCPause: 6 * ms}),
			[]string{"To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with 60 %", "next something that the clocks cannot decide, with 40 %"}, []string{"at most"}},
		{"cycle, second", share(10*ms, stall.Cycle, appOrHost, map[stall.Cause]time.Duration{stall.GCPause: 3 * ms}),
			[]string{"To blame for p99: the program or the machine (it was not watched which), with 70 %", "next perhaps garbage collection (gc.pause: the world was stopped), with at most 30 %"}, []string{"99: perhaps"}},
		{"unseen", share(10*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.GCPause: 1 * ms}),
			[]string{"To blame for p99: not known; 90 %", "unseen", "of the rest the most, at most 10 %, may have gone to garbage collection", "garbage collection had an unknown part."}, []string{"the program"}},
		{"all unseen", share(10*ms, stall.Cycle, unseen, nil),
			[]string{"To blame for p99: not known; 100 %", "; garbage collection had an unknown part."}, []string{"the program"}},
		{"host", share(10*ms, stall.Exact, appOrHost, map[stall.Cause]time.Duration{stall.HostThrottled: 8 * ms}),
			[]string{"the machine (host.throttled: the CPU quota was used up), with 80 %", "next the program or the machine (it was not watched which), with 20 %"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Requests: 1, Summary: summarize([]Case{{Share: tt.share}}), GC: Collections{Cycles: 1}}
			got := r.Sentences()[0]
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("sentence %q does not hold %q", got, w)
				}
			}
			for _, n := range tt.not {
				if strings.Contains(got, n) {
					t.Errorf("sentence %q holds %q", got, n)
				}
			}
		})
	}
}

// TestDelaysBoundTimeOnly: of what was watched per cycle the counts are of what is
// certain, and the times are bounds where none is uncertain.
func TestDelaysBoundTimeOnly(t *testing.T) {
	for _, tt := range []struct {
		rest func(*stall.Share) *time.Duration
		want []string
	}{
		{unseen, []string{"slowest", "cycle", "1", "100.0", "≤40.0", "≤40.0", "1", "·"}},
		{uncertain, []string{"slowest", "cycle", "1", "100.0", "40.0", "40.0", "1", "·"}},
	} {
		s := share(10*ms, stall.Cycle, tt.rest, map[stall.Cause]time.Duration{stall.GCPause: 4 * ms})
		s.Collections = 1
		j := summarize([]Case{{Share: s}})
		var got []string
		for _, c := range j.Rows[0].delayCells() {
			got = append(got, textfmt.Text(c))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("cells (-want +got):\n%s", diff)
		}
		if got, want := strings.Contains(j.Slowest[0].describe(), "at most"), s.Uncertain == 0; got != want {
			t.Errorf("%q: at most %v, want %v", j.Slowest[0].describe(), got, want)
		}
	}
}

// TestPerhaps: what was watched exactly is enough to lead, or not, whoever had what is
// a bound only, was unseen or is uncertain.
func TestPerhaps(t *testing.T) {
	const queue = "the way to the handler and back (queue: a connection, the kernel or a CPU was busy), "
	exact := func(pause, queue time.Duration) stall.Share {
		return share(100*ms, stall.Exact, app, map[stall.Cause]time.Duration{stall.GCPause: pause, stall.Queue: queue})
	}
	cycle := func(pause time.Duration) stall.Share {
		return share(50*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.GCPause: pause})
	}
	loose := func(pause time.Duration) stall.Share {
		return share(pause, stall.Cycle, appOrHost, map[stall.Cause]time.Duration{stall.GCPause: pause})
	}
	for _, tt := range []struct {
		exact, cycle stall.Share
		want         string
	}{
		{exact(90*ms, 5*ms), cycle(20 * ms), "To blame for p99: garbage collection (gc.pause: the world was stopped), with at most 73 %"},
		{exact(50*ms, 35*ms), cycle(20 * ms), "To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with at most 47 %"},
		{exact(60*ms, 35*ms), cycle(0), "To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with 40 % of the time of the 2 requests above p99 (0 ns and longer): 33 % was unseen, and may be another's; next the way"},
		{exact(85*ms, 15*ms), cycle(0), "To blame for p99: garbage collection (gc.pause: the world was stopped), with 57 % of the time of the 2 requests above p99 (0 ns and longer); next perhaps " + queue + "with 10 %; 33 % was unseen; garbage"},
		{exact(80*ms, 10*ms), share(50*ms, stall.Exact, uncertain, nil), "To blame for p99: garbage collection (gc.pause: the world was stopped), with 53 %"},
		{exact(50*ms, 10*ms), share(50*ms, stall.Exact, uncertain, nil), "To blame for p99: perhaps garbage collection (gc.pause: the world was stopped), with 33 % of the time of the 2 requests above p99 (0 ns and longer): 33 % is uncertain, and may be another's"},
		// What the second had is a bound: it may be the third's, who would lead then.
		{exact(0, 55*ms), loose(50 * ms), "To blame for p99: perhaps " + queue + "with 37 % of the time of the 2 requests above p99 (0 ns and longer): of requests watched per cycle"},
	} {
		r := &Report{Requests: 2}
		r.Summary.Rows = []Row{
			{Band: AboveP99, Fidelity: stall.Exact, Tally: Tally{Requests: 1, spent: spent{Share: tt.exact}}},
			{Band: AboveP99, Fidelity: stall.Cycle, Tally: Tally{Requests: 1, spent: spent{Share: tt.cycle}}},
		}
		if got := r.Sentences()[0]; !strings.HasPrefix(got, tt.want) {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// TestBound: an upper bound is named as one, and what excludes nothing is none.
func TestBound(t *testing.T) {
	for _, tt := range []struct {
		f      float64
		atMost bool
		want   string
	}{
		{0.12, false, "12 %"}, {0.999, false, "more than 99 %"}, {0, true, "0 %"}, {0.0004, true, "at most 0.1 %"},
		{0.12, true, "at most 12 %"}, {0.999, true, "up to 100 %"}, {1, true, "up to 100 %"},
	} {
		if got := bound(tt.f, tt.atMost); got != tt.want {
			t.Errorf("bound(%v, %v) = %q, want %q", tt.f, tt.atMost, got, tt.want)
		}
	}
}

// TestReached: of requests watched per cycle the pauses alone are known.
func TestReached(t *testing.T) {
	// cases returns n requests of rising length, every fourth of them delayed.
	cases := func(n int, fidelity func(i int) stall.Fidelity) []Case {
		var all []Case
		for i := range n {
			charges := map[stall.Cause]time.Duration{}
			if i%4 == 3 {
				charges[stall.GCPause] = ms / 2
			}
			all = append(all, Case{Share: share(time.Duration(i+1)*ms, fidelity(i), appOrHost, charges)})
		}
		return all
	}
	for want, fidelity := range map[string]func(int) stall.Fidelity{
		"It cost time in 25 % of all requests and 50 % of those above p99.":                                                          func(int) stall.Fidelity { return stall.Exact },
		"Its pauses fell for certain into 25 % of all requests and 50 % of those above p99; what else it cost them was not watched.": func(int) stall.Fidelity { return stall.Cycle },
		"It cost time in 50 % of the 100 requests watched exactly; above p99 in 100 % of 1.":                                         func(i int) stall.Fidelity { return stall.Fidelity(i % 2) },
		"It cost time in 25 % of the 100 requests watched exactly; none of them is above p99.":                                       func(i int) stall.Fidelity { return stall.Fidelity(1 - i/100) },
	} {
		j := summarize(cases(200, fidelity))
		if got := j.reached(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestPartiesHaveAllTime sees to it that no cause is missing in the table.
func TestPartiesHaveAllTime(t *testing.T) {
	tally := Tally{spent: spent{Generator: 1 << 40}}
	s := &tally.Share
	s.App, s.AppOrHost, s.Uncertain, s.Unseen = 1, 2, 4, 8
	want := time.Duration(15 + 1<<40)
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		s.Charged[c] = 16 << c
		want += 16 << c
	}
	var got time.Duration
	for i := range parties {
		got += parties[i].of(&tally.spent)
	}
	if got != want {
		t.Errorf("parties have %d of %d", got, want)
	}
}

// TestNoCollection: what did not run had nothing, whoever watched.
func TestNoCollection(t *testing.T) {
	s := share(10*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.Queue: 8 * ms})
	r := &Report{Requests: 1, Summary: summarize([]Case{{Share: s}})}
	const want = "; garbage collection had none of it."
	if got := r.Sentences()[0]; !strings.HasSuffix(got, want) {
		t.Errorf("sentence %q, want %q at its end", got, want)
	}
}
