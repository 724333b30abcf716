package blame

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/sidecar/internal/slowed"
	"github.com/otelgc/otelgc/stall"
)

var update = flag.Bool("update", false, "write the golden files anew")

const ms = time.Millisecond

// share returns a share that sums to its total; the rest is rest's.
func share(total time.Duration, f stall.Fidelity, rest func(*stall.Share) *time.Duration, charges map[stall.Cause]time.Duration) stall.Share {
	s := stall.Share{Total: total, Fidelity: f}
	if f == stall.Exact {
		s.Covered = total
	}
	left := total
	for c, d := range charges {
		s.Charged[c] = d
		left -= d
	}
	*rest(&s) += left
	return s
}

func app(s *stall.Share) *time.Duration       { return &s.App }
func appOrHost(s *stall.Share) *time.Duration { return &s.AppOrHost }
func unseen(s *stall.Share) *time.Duration    { return &s.Unseen }
func uncertain(s *stall.Share) *time.Duration { return &s.Uncertain }

// judge makes a judgement of cases whose latency is their share's total.
func judge(cases []Case) Judgement {
	for i := range cases {
		c := &cases[i]
		c.Latency, c.Known = c.Share.Total, c.Share.Total
		c.Arrival = stall.Instant(time.Duration(i) * ms)
	}
	return Judge(len(cases), 3, func(i int) time.Duration { return cases[i].Latency }, func(i int, c *Case) { *c = cases[i] })
}

// reports are the synthetic runs that are printed.
func reports() map[string]*Report {
	setup := []Line{
		{"service", "go1.26.8, GOMAXPROCS 1, live heap 64 MiB"},
		{"load", "12,000 requests in 10s, each at a time fixed in advance"},
		{"machine", "2 CPUs: the probe has CPU 1 to itself, service and load generator share the other one and take it from each other"},
	}
	quiet := Outside{Mode: "spin", CPU: 1, Gaps: 5123, GapTime: 12 * ms, Longest: 1200 * time.Microsecond, Observed: 10 * time.Second, Board: true}

	var exact []Case
	for i := range 12_000 {
		d := time.Duration(200+i%50) * time.Microsecond
		charges := map[stall.Cause]time.Duration{stall.Queue: d / 3}
		n := 0
		if i%100 == 7 {
			n = 1
			d += time.Duration(1+i/1000) * ms
			charges = map[stall.Cause]time.Duration{
				stall.Queue: d / 20, stall.GCPause: d / 10, stall.GCAssist: d / 2, stall.SchedGC: d / 5,
			}
		}
		exact = append(exact, Case{Share: share(d, stall.Exact, appOrHost, charges), Collections: n})
	}

	var cycle []Case
	for i := range 500 {
		d := time.Duration(100+i) * time.Microsecond
		charges := map[stall.Cause]time.Duration{}
		n := 0
		if i > 480 {
			charges[stall.GCPause] = d / 4
			n = 1
		}
		s := share(d, stall.Cycle, unseen, charges)
		s.Coincident[stall.HostUnknown] = d / 50
		cycle = append(cycle, Case{Share: s, Collections: n})
	}

	var every []Case
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		for i, rest := range []func(*stall.Share) *time.Duration{app, appOrHost, unseen, uncertain} {
			f := stall.Fidelity(i % 2)
			d := time.Duration(int(c)*10+i+1) * ms
			every = append(every, Case{Share: share(d, f, rest, map[stall.Cause]time.Duration{c: d / 2}), Collections: i, FullBlocking: i == 1, OneStop: i == 3})
		}
	}

	return map[string]*Report{
		"exact": {
			Setup: setup, Requests: len(exact), Judgement: judge(exact), Outside: quiet,
			Injected: Injected{What: "forced-gc", Times: 12, Over: 10 * time.Second},
			GC:       Collections{Cycles: 12, RuntimeCycles: 12, Pause: 9 * ms, LongestPause: 2 * ms},
			Inside:   Inside{Mode: "periodic", Over50us: 1312, GC: 47, Coincident: 1012, Other: 253},
		},
		"cycle": {
			Setup: setup, Requests: len(cycle), Errors: 3, Unmatched: 2, Judgement: judge(cycle),
			GC:      Collections{Cycles: 1, RuntimeCycles: 1, Pause: 300 * time.Microsecond, LongestPause: 200 * time.Microsecond},
			Inside:  Inside{Mode: "periodic"},
			Outside: Outside{Mode: "periodic", CPU: -1, Gaps: 1, GapTime: 4 * time.Second, Longest: 3 * time.Second, Observed: 10 * time.Second, Dropped: 7, Board: true},
			Notes:   []string{"The probe beside the service does not spin: one CPU: periodic.", "3 requests failed, such as by: connect to service: connection refused."},
		},
		"every-cause": {
			Setup: setup, Requests: len(every), Judgement: judge(every), Outside: quiet,
			GC: Collections{
				Cycles: 3, RuntimeCycles: 3, Pause: 9 * ms, LongestPause: 2 * ms,
				Slowed: slowed.Tally{StolenCPU: 1, Paging: 1, Longest: "collection 2: stolen CPU: paused 6.00 ms, 12 times the usual for its work, 5.20 ms of it without a CPU"},
			},
		},
		"nothing": {Setup: setup, Errors: 12, Notes: []string{"12 of 12 requests were not sent."}},
	}
}

func TestPrint(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := r.Print(&got); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".txt", got.Bytes(), *update)
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > page.Width {
					t.Errorf("line of %d columns, at most %d:\n%s", n, page.Width, line)
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

func TestRank(t *testing.T) {
	tests := []struct {
		q    float64
		n    int
		want int
	}{
		{0.5, 1, 1}, {0.5, 2, 1}, {0.5, 3, 2}, {0.9, 10, 9}, {0.99, 10, 10}, {0.99, 100, 99},
		{0.99, 101, 100}, {0.999, 10_000, 9_990}, {0.999, 10_001, 9_991}, {0.99, 1_000_000, 990_000},
	}
	for _, tt := range tests {
		if got := rank(tt.q, tt.n); got != tt.want {
			t.Errorf("rank(%v, %d) = %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}

func TestBands(t *testing.T) {
	tests := []struct {
		n    int
		want [NumBands]int
	}{
		{1, [NumBands]int{Slowest: 1}},
		{2, [NumBands]int{ToP50: 1, Slowest: 1}},
		{10, [NumBands]int{ToP50: 5, P50ToP90: 4, Slowest: 1}},
		{1000, [NumBands]int{ToP50: 500, P50ToP90: 400, P90ToP99: 90, AboveP99: 9, Slowest: 1}},
		{10_000, [NumBands]int{ToP50: 5000, P50ToP90: 4000, P90ToP99: 900, P99ToP999: 90, AboveP999: 9, Slowest: 1}},
	}
	for _, tt := range tests {
		var got [NumBands]int
		for i := range tt.n {
			got[bandOf(i, tt.n)]++
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("bands of %d requests (-want +got):\n%s", tt.n, diff)
		}
	}
}

func TestPercentilesHaveTheNearestRank(t *testing.T) {
	at := func(rank int) time.Duration { return time.Duration(rank + 1) }
	want := Latency{P50: 5_000, P90: 9_000, P99: 9_900, P999: 9_990, Max: 10_000, HasP999: true}
	if diff := cmp.Diff(want, percentiles(10_000, at)); diff != "" {
		t.Errorf("percentiles of 10,000 (-want +got):\n%s", diff)
	}
	want = Latency{P50: 5_000, P90: 9_000, P99: 9_900, Max: 9_999}
	if diff := cmp.Diff(want, percentiles(9_999, at)); diff != "" {
		t.Errorf("percentiles of 9,999 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Latency{}, percentiles(0, nil)); diff != "" {
		t.Errorf("percentiles of none (-want +got):\n%s", diff)
	}
}

// TestBlameNamesWhoDidIt holds the sentence to its rules: the cause with the
// most time is named, unseen time is never anybody's, and figures of cycle
// fidelity are "at most".
func TestBlameNamesWhoDidIt(t *testing.T) {
	tests := []struct {
		name      string
		share     stall.Share
		want, not []string
	}{
		{"assist", share(10*ms, stall.Exact, app, map[stall.Cause]time.Duration{stall.GCAssist: 7 * ms}),
			[]string{"To blame for p99: marking for the garbage collector (assist), with 70 %", "garbage collection had 70 %"}, []string{"at most", "unseen"}},
		{"app", share(10*ms, stall.Exact, app, nil),
			[]string{"To blame for p99: the program itself, with 100 %", "garbage collection had none"}, []string{"at most"}},
		{"cycle", share(10*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.GCPause: 6 * ms}),
			[]string{"pauses of the garbage collector, with 60 %", "40 % was unseen", "garbage collection had at most 60 %"}, []string{"the program"}},
		{"unseen", share(10*ms, stall.Cycle, unseen, map[stall.Cause]time.Duration{stall.GCPause: 1 * ms}),
			[]string{"To blame for p99: not known; 90 %", "unseen", "at most 10 %"}, []string{"the program"}},
		{"all unseen", share(10*ms, stall.Cycle, unseen, nil),
			[]string{"To blame for p99: not known; 100 %"}, []string{"the program"}},
		{"host", share(10*ms, stall.Exact, appOrHost, map[stall.Cause]time.Duration{stall.HostThrottled: 8 * ms}),
			[]string{"the machine (host.throttled: the CPU quota was used up), with 80 %", "next the program or the machine (nobody watched which), with 20 %"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Requests: 1, Judgement: judge([]Case{{Share: tt.share}})}
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

// TestPartiesHaveAllTime sees to it that no cause is missing in the table.
func TestPartiesHaveAllTime(t *testing.T) {
	var s stall.Share
	s.App, s.AppOrHost, s.Uncertain, s.Unseen = 1, 2, 4, 8
	want := time.Duration(15)
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		s.Charged[c] = 16 << c
		want += 16 << c
	}
	var got time.Duration
	for i := range parties {
		got += parties[i].of(&s)
	}
	if got != want {
		t.Errorf("parties have %d of %d", got, want)
	}
}
