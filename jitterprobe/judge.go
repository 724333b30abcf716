package jitterprobe

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/cgroup"
	"github.com/otelgc/otelgc/stall"
)

const (
	// throttleFrom is the shortest gap that is asked about throttling: a quota
	// takes the CPU away for the rest of a period, milliseconds.
	throttleFrom = time.Millisecond
	// throttleEvery bounds how old the other end of a difference can be.
	throttleEvery = time.Second
	// throttleFresh is how long throttled time waits for its gap.
	throttleFresh = 3 * drainEvery
	// throttleShare is the part of a gap that cpu.stat must account for. Where
	// it was compared, they agreed within a percent.
	throttleShare = 0.8
)

// spent is what one cgroup was throttled lately.
type spent struct {
	left   time.Duration // that no gap has claimed
	events uint64        // throttlings that began, not yet seen to end
	mean   time.Duration // length of one, from the last that ended
}

// judge looks for evidence of the causes of gaps. It belongs to the drain
// goroutine.
type judge struct {
	clock stall.Clock
	watch *cgroup.Watch // nil if the cgroups could not be found
	last  []cgroup.Throttle
	next  []cgroup.Throttle
	spent []spent // per cgroup
	asked stall.Instant
	long  []*Gap // of one settle
}

func newJudge(root string, clock stall.Clock) judge {
	watch, err := cgroup.NewWatch(root)
	if err != nil {
		return judge{} // without evidence every cause is unknown, which is true
	}
	j := judge{clock: clock, watch: watch, asked: clock.Now()}
	j.last = watch.Read(nil)
	j.spent = make([]spent, len(j.last))
	return j
}

// settle gives host.throttled to each gap that the cgroup or one of its
// ancestors was throttled for.
func (j *judge) settle(gaps []Gap) {
	if len(j.last) == 0 {
		return
	}
	fresh, due := j.due(gaps)
	if !due {
		return
	}
	j.next = j.watch.Read(j.next[:0])
	for i := range j.spent {
		j.spent[i].add(j.last[i], j.next[i], fresh)
	}
	j.last, j.next = j.next, j.last
	// The longest first: what is left over for the others is their bound.
	j.long = j.long[:0]
	for i := range gaps {
		if g := &gaps[i]; g.Duration() >= throttleFrom && !g.Runtime {
			j.long = append(j.long, g)
		}
	}
	slices.SortFunc(j.long, func(a, b *Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
	for _, g := range j.long {
		j.claim(g)
	}
}

// due reports whether cpu.stat has to be read: for a long gap, and once a
// second so that the difference is never of a longer time. It also reports
// whether the last read was only just before.
func (j *judge) due(gaps []Gap) (fresh, due bool) {
	now := j.clock.Now()
	age := now.Sub(j.asked)
	due = age >= throttleEvery
	for i := range gaps {
		due = due || gaps[i].Duration() >= throttleFrom
	}
	if due {
		j.asked = now
	}
	return age <= throttleFresh, due
}

// add takes in the difference of two reads. The count rises when a throttling
// begins, the time when it ends, and the thread runs again a little later: if
// the last read was fresh it may have had the time of a gap that only came to
// light since.
func (s *spent) add(from, to cgroup.Throttle, fresh bool) {
	if !fresh {
		s.left = 0
	}
	s.events += to.Count - min(to.Count, from.Count)
	ended := to.Time - from.Time
	if ended <= 0 {
		return
	}
	s.left += ended
	s.mean = ended / time.Duration(max(1, s.events))
	s.events = 0
}

// covers reports whether s accounts for a gap of d: there is time enough, and a
// throttling was about as long. A shorter gap had another reason; its cgroup
// was throttled on another CPU, or before or after.
func (s *spent) covers(d time.Duration) bool {
	return float64(s.left) >= throttleShare*float64(d) && d >= s.mean/2
}

// claim takes the length of g out of what the first cgroup that covers it was
// throttled.
func (j *judge) claim(g *Gap) {
	for i := range j.spent {
		s := &j.spent[i]
		if !s.covers(g.Duration()) {
			continue
		}
		s.left -= min(s.left, g.Duration())
		g.Cause, g.Scope = stall.HostThrottled, stall.ScopeCgroup
		g.Owner = stall.Owner{Cgroup: j.last[i].Inode}
		return
	}
}
