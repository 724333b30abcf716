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
	tid   int
	share share
	last  stall.Instant // start of the last gap of its length, zero if none
	fixed func(tid int) bool
}

// share is what others get of each period. The zero share is nothing.
type share struct{ period, rest time.Duration }

// fairServer is the share of threads without real-time priority since Linux 6.12,
// whatever the limit is (dl_server, kernel/sched/deadline.c). Who may write to
// debugfs can change it; there it is not found.
var fairServer = share{period: time.Second, rest: 50 * time.Millisecond}

func newRealtime(root string, tid int) realtime {
	return realtime{tid: tid, share: shareOfOthers(root), fixed: kernel.Realtime}
}

// shareOfOthers returns the fair server's, where there is one: it came in the place
// of the limit. What is left of that, with CONFIG_RT_GROUP_SCHED, takes its numbers
// from a cgroup and not from these files (sched_rt_runtime_exceeded,
// kernel/sched/rt.c).
func shareOfOthers(root string) share {
	if hasFairServer(root) {
		return fairServer
	}
	// Documentation/scheduler/sched-rt-group.rst
	period, ok := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_period_us"))
	runtime, ok2 := micros(filepath.Join(root, "proc/sys/kernel/sched_rt_runtime_us"))
	if !ok || !ok2 || runtime >= period {
		return share{}
	}
	return share{period: period, rest: period - runtime}
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

// settle gives host.throttled to each gap in which a thread without real-time
// priority took the CPU from one that had it: nothing else lets it. Where who had
// the CPU is not on record, it is the gaps that are as long as the others' share and
// begin one period after another of that length, if the thread had to wait for its
// CPU or nobody knows. The first of them keeps its cause.
func (r *realtime) settle(gaps []Gap, account func(*Gap) kernel.Account) {
	if r.tid == 0 {
		return
	}
	for i := range gaps {
		g := &gaps[i]
		if g.Evidence.Witness == SwitchRecord {
			if a := account(g); a.NextName != "" {
				g.outranked(&a)
				continue
			}
		}
		r.pattern(g, account)
	}
}

// outranked gives host.throttled to a preempted gap, if the thread that had the CPU
// could not have had it but for the limit.
func (g *Gap) outranked(a *kernel.Account) {
	if a.Outranked && !a.Moved {
		g.call(stall.HostThrottled, Evidence{Witness: RealtimeLimit, Time: a.Preempted})
	}
}

// pattern gives host.throttled to g if it has the shape of the limit.
func (r *realtime) pattern(g *Gap, account func(*Gap) kernel.Account) {
	d := g.Duration()
	if r.share == (share{}) || d < realtimeFrom || !r.share.fits(d) || !gaveWay(g, account) || !r.fixed(r.tid) {
		return
	}
	if r.last != 0 && near(g.Start.Sub(r.last), r.share.period) {
		g.call(stall.HostThrottled, Evidence{Witness: RealtimeLimit, Time: d, Name: r.share.period.String()})
	}
	r.last = g.Start
}

// gaveWay reports whether the thread may have had to leave its CPU to others. Where
// its records decided nothing it had not.
func gaveWay(g *Gap, account func(*Gap) kernel.Account) bool {
	switch g.Evidence.Witness {
	case IdleCPU, RunDelay, SwitchRecord:
		return true
	case NoWitness:
		a := account(g)
		return !a.Thread
	}
	return false
}

// fits reports whether d is the rest of a period. The scheduler looks at its tick,
// and gives up to 10 ms more.
func (s share) fits(d time.Duration) bool {
	return 10*d >= 9*s.rest && d <= s.rest+max(s.rest/10, 10*time.Millisecond)
}

// near reports whether d is within a tenth of want.
func near(d, want time.Duration) bool { return 10*(d-want).Abs() <= want }
