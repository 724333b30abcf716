package jitterprobe

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

const (
	// throttleFrom is the shortest gap that is asked about throttling: a quota
	// takes the CPU away for the rest of a period, milliseconds.
	throttleFrom = time.Millisecond
	// throttleEvery bounds how old the other end of a difference can be.
	throttleEvery = time.Second
	// throttleFresh is how long throttled time waits for its gap.
	throttleFresh = 2 * drainEvery
	// throttleShare is the part of a gap that cpu.stat must account for. Where
	// it was compared, they agreed within a percent.
	throttleShare = 0.8
	// throttlePeriod is that of a quota, by default and under Kubernetes: no CPU is
	// throttled for longer at a time.
	throttlePeriod = 100 * time.Millisecond
)

// spent is what one cgroup was throttled lately, by the last read and by the one
// before it: what no gap claims of that is not kept, or it would wait for the
// preemptions of a busy CPU. Reads follow each other for gaps that have come to
// light, so there is none between a throttling's and its gap's but the first.
type spent struct {
	last, late found
	events     uint64 // throttlings that began, not yet seen to end
}

// found is what one read says of the throttlings that ended.
type found struct {
	left time.Duration // that no gap has claimed
	mean time.Duration // length of one, of all CPUs together
}

// throttled finds the gaps that a cgroup's quota made.
type throttled struct {
	clock stall.Clock
	watch *cgroup.Watch
	last  []cgroup.Throttle
	next  []cgroup.Throttle
	spent []spent // per cgroup
	asked stall.Instant
	long  []*Gap // of one settle, those that may have been throttled
}

// newThrottled finds the cgroups. Without any it finds no gaps.
func newThrottled(root string, clock stall.Clock) (throttled, error) {
	host := os.DirFS(root)
	groups, err := cgroup.Of(host, "self")
	if err != nil {
		return throttled{}, err
	}
	t := throttled{clock: clock, watch: cgroup.NewWatch(host, groups), asked: clock.Now()}
	t.last = t.watch.Read(nil)
	t.spent = make([]spent, len(t.last))
	return t, nil
}

// settle gives host.throttled to each gap that the cgroup or one of its
// ancestors was throttled for, among those that may have been.
func (t *throttled) settle(gaps []Gap, may func(*Gap) bool) {
	if len(t.last) == 0 {
		return
	}
	t.long = t.long[:0]
	for i := range gaps {
		if g := &gaps[i]; g.Duration() >= throttleFrom && !g.Runtime && may(g) {
			t.long = append(t.long, g)
		}
	}
	fresh, due := t.due()
	if !due {
		return
	}
	t.next = t.watch.Read(t.next[:0])
	for i := range t.spent {
		t.spent[i].add(t.last[i], t.next[i], fresh)
	}
	t.last, t.next = t.next, t.last
	// The longest first: what is left over for the others is their bound.
	slices.SortFunc(t.long, func(a, b *Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
	for _, g := range t.long {
		t.claim(g)
	}
}

// due reports whether cpu.stat has to be read: for a long gap that may have been
// throttled, and once a second so that the difference is never of a longer time.
// It also reports whether the last read was only just before.
func (t *throttled) due() (fresh, due bool) {
	now := t.clock.Now()
	age := now.Sub(t.asked)
	due = len(t.long) > 0 || age >= throttleEvery
	if due {
		t.asked = now
	}
	return age <= throttleFresh, due
}

// add takes in the difference of two reads. The count rises when a throttling
// begins, the time when it ends, and the thread runs again a little later: if
// the last read was fresh it may have had the time of a gap that only came to
// light since.
func (s *spent) add(from, to cgroup.Throttle, fresh bool) {
	s.late, s.last = s.last, found{}
	if !fresh {
		s.late = found{}
	}
	s.events += to.Count - min(to.Count, from.Count)
	ended := to.Time - from.Time
	if ended <= 0 {
		return
	}
	s.last = found{left: ended, mean: ended / time.Duration(max(1, s.events))}
	s.events = 0
}

// take returns how much of a gap of d one of the reads accounts for, or both
// together, and takes that out of them. Zero is none.
func (s *spent) take(d time.Duration) time.Duration {
	for _, f := range []*found{&s.late, &s.last} {
		if f.covers(d) {
			part := min(f.left, d)
			f.left -= min(f.left, max(d, f.mean))
			return part
		}
	}
	both := found{left: s.late.left + s.last.left, mean: max(s.late.mean, s.last.mean)}
	if s.late.left == 0 || !both.covers(d) {
		return 0
	}
	s.late.left, s.last.left = 0, both.left-min(both.left, max(d, both.mean))
	return min(both.left, d)
}

// covers reports whether f accounts for a gap of d: there is time enough, and a
// throttling was about as long on one CPU. A shorter gap had another reason; its
// cgroup was throttled on another CPU, or before or after.
func (f *found) covers(d time.Duration) bool {
	cpus := (f.mean + throttlePeriod - 1) / throttlePeriod // at least, all throttled at once
	return float64(f.left) >= throttleShare*float64(d) && d >= f.mean/max(1, cpus)/2
}

// claim takes g out of what the first cgroup that covers it was throttled: the time
// of one throttling on all CPUs, of which this gap is one's.
func (t *throttled) claim(g *Gap) {
	for i := range t.spent {
		part := t.spent[i].take(g.Duration())
		if part == 0 {
			continue
		}
		g.Cause, g.Scope = stall.HostThrottled, stall.ScopeCgroup
		g.Owner = stall.Owner{Cgroup: t.watch.Inode(i)}
		g.Evidence = Evidence{Witness: CgroupStat, Time: part}
		return
	}
}

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
// whatever the limit is (dl_server, kernel/sched/deadline.c). Root can change it
// in debugfs; such a share is not found.
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
// priority took the CPU from one that had it: nothing else lets it. Where the thread
// that had the CPU is not on record, it is the gaps that are as long as the others' share and
// begin one period after another of that length, if the thread had to wait for its
// CPU or that is not known. The first of them keeps its cause.
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
