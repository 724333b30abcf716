package stall

import (
	"math/rand/v2"
	"testing"
	"time"
)

// shortWindows returns n requests of some 100 us one after the other, and a
// pause or a gap of the machine for about every tenth of them.
func shortWindows(n int) ([]Window, Evidence) {
	random := rand.New(rand.NewPCG(5, 6))
	const every = 200_000
	windows := make([]Window, n)
	var e Evidence
	for i := range windows {
		start := Instant(1 + i*every)
		windows[i] = Window{Start: start, End: start + 50_000 + Instant(random.IntN(100_000))}
		at := start + Instant(random.IntN(every))
		switch random.IntN(20) {
		case 0:
			e.Process = append(e.Process, Interval{Start: at, End: at + 40_000, Cause: GCPause})
		case 1:
			e.Host = append(e.Host, Interval{Start: at, End: at + 20_000, Cause: HostSteal, Scope: ScopeMachine, Slack: 100})
		}
	}
	e.Seen = []Span{{1, Instant(n * every)}}
	return windows, e
}

// overlappingWindows returns n windows and n intervals of which each window
// overlaps about depth.
func overlappingWindows(n, depth int) ([]Window, Evidence) {
	const every = 10_000
	windows := make([]Window, n)
	var e Evidence
	for i := range windows {
		start := Instant(1 + i*every)
		windows[i] = Window{Start: start, End: start + Instant(depth*every)}
		cause := GCPause
		if i%2 == 0 {
			cause = RuntimeSuspension
		}
		e.Process = append(e.Process, Interval{Start: start + 2_000, End: start + 5_000, Cause: cause})
	}
	return windows, e
}

// nestedLoop is the obvious join and the peer of the benchmarks: it compares
// every window with every interval, and sums overlaps without a thought of
// precedence, slack or coverage. It does less than Joiner and so flatters
// itself.
func nestedLoop(windows []Window, e *Evidence) (pairs int, sum time.Duration) {
	for i := range windows {
		extent := windows[i].Extent()
		for _, list := range [...][]Interval{e.Process, e.Host} {
			for k := range list {
				if d := list[k].Span().Clip(extent).Duration(); d > 0 {
					pairs++
					sum += d
				}
			}
		}
	}
	return pairs, sum
}

var joinSink time.Duration

// timePeer returns the time of nestedLoop on all windows, measured on a part of
// them, as all would take minutes.
func timePeer(windows []Window, e *Evidence) time.Duration {
	part := windows[:min(len(windows), 200)]
	start := time.Now()
	_, joinSink = nestedLoop(part, e)
	return time.Duration(float64(time.Since(start)) * float64(len(windows)) / float64(len(part)))
}

// timeJoin measures a join of all windows, and returns how long one takes and how long
// its peer does.
func timeJoin(b *testing.B, windows []Window, e *Evidence) (each, peer time.Duration) {
	b.Helper()
	peer = timePeer(windows, e)
	var j Joiner
	yield := func(_ int, s *Share) bool { joinSink += s.GC(); return true }
	j.All(windows, e, yield)
	b.ReportAllocs()
	for b.Loop() {
		j.All(windows, e, yield)
	}
	each = b.Elapsed() / time.Duration(b.N)
	return each, peer
}

func BenchmarkJoinShort(b *testing.B) {
	windows, e := shortWindows(100_000)
	items := len(windows) + len(e.Process) + len(e.Host)
	each, peer := timeJoin(b, windows, &e)
	b.ReportMetric(float64(items)/each.Seconds(), "items/s")
	b.ReportMetric(float64(peer)/float64(each), "times-nested-loop")
}

func BenchmarkJoinOverlapping(b *testing.B) {
	windows, e := overlappingWindows(2_000, 100)
	pairs, _ := nestedLoop(windows, &e)
	each, peer := timeJoin(b, windows, &e)
	b.ReportMetric(float64(each)/float64(pairs), "ns/pair")
	b.ReportMetric(float64(peer)/float64(each), "times-nested-loop")
}
