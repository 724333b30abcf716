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

// realtime finds the gaps in which a thread of real-time priority had to leave its
// CPU to others: of each period a part is theirs.
type realtime struct {
	tid    int
	shares []share
	fixed  func(tid int) bool
}

// share is what others get of each period.
type share struct {
	period, rest time.Duration
	last         stall.Instant // start of the last gap of that length, zero if none
}

// fairServer is the share of threads without real-time priority since Linux 6.12,
// whatever the limit is (dl_server, kernel/sched/deadline.c). Who may write to
// debugfs can change it; there it is not found.
var fairServer = share{period: time.Second, rest: 50 * time.Millisecond}

func newRealtime(root string, tid int) realtime {
	r := realtime{tid: tid, fixed: kernel.Realtime}
	// The limit itself: Documentation/scheduler/sched-rt-group.rst.
	period, ok := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_period_us"))
	runtime, ok2 := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_runtime_us"))
	limit := share{period: period, rest: period - runtime}
	if ok && ok2 && runtime < period && limit != fairServer {
		r.shares = append(r.shares, limit)
	}
	if limit == fairServer || hasFairServer(root) {
		r.shares = append(r.shares, fairServer)
	}
	return r
}

// hasFairServer reports whether the kernel is Linux 6.12 or later.
func hasFairServer(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease"))
	if err != nil {
		return false
	}
	major, rest, _ := strings.Cut(string(text), ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err1 := strconv.ParseUint(major, 10, 16)
	digits := minor[:len(minor)-len(strings.TrimLeft(minor, "0123456789"))] // before "-rc1"
	n, err2 := strconv.ParseUint(digits, 10, 16)
	return err1 == nil && err2 == nil && (m > 6 || m == 6 && n >= 12)
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

// settle gives host.throttled to each gap that is as long as the others' share and
// begins one period after another of that length. The first of them keeps its
// cause.
func (r *realtime) settle(gaps []Gap) {
	for i := range gaps {
		for k := range r.shares {
			r.hold(&gaps[i], &r.shares[k])
		}
	}
}

func (r *realtime) hold(g *Gap, s *share) {
	d := g.Duration()
	if r.tid == 0 || d < realtimeFrom || !s.fits(d) || !r.fixed(r.tid) {
		return
	}
	if s.last != 0 && near(g.Start.Sub(s.last), s.period) {
		g.call(stall.HostThrottled, Evidence{Witness: RealtimeLimit, Time: d})
	}
	s.last = g.Start
}

// fits reports whether d is the rest of a period. The scheduler looks at its tick,
// and gives up to 10 ms more.
func (s *share) fits(d time.Duration) bool {
	return 10*d >= 9*s.rest && d <= s.rest+max(s.rest/10, 10*time.Millisecond)
}

// near reports whether d is within a tenth of want.
func near(d, want time.Duration) bool { return 10*(d-want).Abs() <= want }
