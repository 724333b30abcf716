package blame

import (
	"flag"
	"time"

	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/jitterprobe"
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

// summarize sums up cases whose latency is their share's total.
func summarize(cases []Case) Summary {
	for i := range cases {
		c := &cases[i]
		c.Latency, c.Known = c.Share.Total, c.Share.Total
		c.Arrival = stall.Instant(time.Duration(i) * ms)
	}
	return Summarize(len(cases), 3, func(i int) time.Duration { return cases[i].Latency }, func(i int, c *Case) { *c = cases[i] })
}

// reports are the synthetic runs that are printed.
func reports() map[string]*Report {
	setup := []Line{
		{"service", "go1.26.8, GOMAXPROCS 1, live heap 64 MiB"},
		{"load", "12,000 requests in 10s, each at a time fixed in advance"},
		{"machine", "2 CPUs: the demo keeps CPU 1 for the probe; service and load generator share the other one and take it from each other"},
	}
	quiet := probed(jitterprobe.Spin, 1, 5123, 10*time.Second, 1200*time.Microsecond, nil)
	quiet.GapTime = 12 * ms
	slept := probed(jitterprobe.Periodic, -1, 1, 10*time.Second, 3*time.Second, map[stall.Cause]time.Duration{stall.HostSuspended: 3 * time.Second, stall.HostUnknown: time.Second})
	slept.Dropped = 7

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
		c := Case{Share: share(d, stall.Exact, appOrHost, charges)}
		c.Share.Collections = n
		if i%100 == 7 {
			c.Generator = d * 3 / 20
			c.Share.AppOrHost -= c.Generator
			c.Behind = Behind{QueueBehindGC: d / 40, SchedBehindGC: d / 10}
		} else if i%50 >= 45 {
			c.Behind.QueueBehindGC = d / 4
		}
		exact = append(exact, c)
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
		s.Collections = n
		cycle = append(cycle, Case{Share: s})
	}

	var every []Case
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		for i, rest := range []func(*stall.Share) *time.Duration{app, appOrHost, unseen, uncertain} {
			f := stall.Fidelity(i % 2)
			d := time.Duration(int(c)*10+i+1) * ms
			s := share(d, f, rest, map[stall.Cause]time.Duration{c: d / 2})
			s.Collections = i
			every = append(every, Case{Share: s, FullBlocking: i == 1, OneStop: i == 3})
		}
	}

	return map[string]*Report{
		"exact": {
			Setup: setup, Requests: len(exact), Summary: summarize(exact), Outside: quiet,
			Injected: &Injected{What: "forced-gc", Times: 12, PerSecond: 1.2},
			GC:       Collections{Cycles: 12, RuntimeCycles: 12, Pause: 9 * ms, LongestPause: 2 * ms},
			Inside:   Inside{Mode: "periodic", Over50us: 1312, GC: 47, Coincident: 1012, Other: 253},
		},
		"cycle": {
			Setup: setup, Requests: len(cycle), Errors: 3, Unmatched: 2, Summary: summarize(cycle),
			GC:      Collections{Cycles: 1, RuntimeCycles: 1, Pause: 300 * time.Microsecond, LongestPause: 200 * time.Microsecond},
			Inside:  Inside{Mode: "periodic"},
			Outside: slept,
			Notes:   []string{"The probe beside the service does not spin: one CPU: periodic.", "3 requests failed, such as by: connect to service: connection refused."},
		},
		"every-cause": {
			Setup: setup, Requests: len(every), Summary: summarize(every), Outside: quiet,
			GC: Collections{
				Cycles: 3, RuntimeCycles: 3, Pause: 9 * ms, LongestPause: 2 * ms,
				Slowed: slowed.Tally{StolenCPU: 1, Paging: 1, Longest: "collection 2: stolen CPU: paused 6.00 ms, 12 times the usual for its work, 5.20 ms of it without a CPU"},
			},
		},
		"nothing": {Setup: setup, Errors: 12, Notes: []string{"12 of 12 requests were not sent."}},
	}
}
