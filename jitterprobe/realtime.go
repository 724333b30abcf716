package jitterprobe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// realtimeFrom is the shortest gap that is held against the limit.
const realtimeFrom = 5 * time.Millisecond

// realtime finds the gaps of the limit on real-time threads: what is left of
// each period for the others (Documentation/scheduler/sched-rt-group.rst). The
// server for fair threads, of Linux 6.12, has the same numbers.
type realtime struct {
	tid    int
	period time.Duration
	rest   time.Duration // of the period, for others
	last   stall.Instant // start of the last gap of that length, zero if none
	fixed  func(tid int) bool
}

func newRealtime(root string, tid int) realtime {
	r := realtime{tid: tid, fixed: kernel.Realtime}
	period, ok := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_period_us"))
	runtime, ok2 := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_runtime_us"))
	if ok && ok2 && runtime < period {
		r.period, r.rest = period, period-runtime
	}
	return r
}

// micros reads a file of one number of microseconds. It reports false for -1,
// no limit, too.
func micros(file string) (time.Duration, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 31)
	return time.Duration(n) * time.Microsecond, err == nil
}

// settle gives host.throttled to each gap that is as long as the rest of a
// period and begins one period after another of that length. The first of them
// keeps its cause.
func (r *realtime) settle(gaps []Gap) {
	for i := range gaps {
		g := &gaps[i]
		d := g.Duration()
		if r.tid == 0 || d < realtimeFrom || !near(d, r.rest) || !r.fixed(r.tid) {
			continue
		}
		if r.last != 0 && near(g.Start.Sub(r.last), r.period) {
			g.call(stall.HostThrottled, Evidence{Witness: RealtimeLimit, Time: d})
		}
		r.last = g.Start
	}
}

// near reports whether d is within a tenth of want.
func near(d, want time.Duration) bool { return 10*(d-want).Abs() <= want }
