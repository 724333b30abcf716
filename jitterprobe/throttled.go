package jitterprobe

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
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
