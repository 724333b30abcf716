package stall

import "time"

// settle gives d, a piece of the window in which m holds throughout, to its one
// owner, and notes what stands beside it.
func (s *Share) settle(m facts, d time.Duration) {
	if m.has(seen) {
		s.Covered += d
	}
	addEach(&s.Coincident, m>>coincident<<HostThrottled&hostFacts, d)
	switch c := m.certain(); {
	case c != NoCause:
		s.Charged[c] += d
		addEach(&s.HostDuring, m.applying()&^(1<<c), d)
	case m.doubtful():
		s.Uncertain += d
	default:
		if m.asleep() || m.ran() {
			addEach(&s.Overlapped, m&stopFacts, d)
		}
		*s.leftOver(m) += d
	}
}

// leftOver returns the owner of time that nothing claims.
func (s *Share) leftOver(m facts) *time.Duration {
	switch {
	case !m.has(inHandler):
		return &s.Charged[Queue]
	case !m.has(seen):
		return &s.Unseen
	case m.has(running) && m.has(targetSeen):
		return &s.App
	case m.has(running):
		return &s.AppOrHost
	case m.has(runnable):
		return &s.Charged[Sched]
	case m.has(parked):
		return &s.App
	}
	return &s.Unseen
}

func addEach(to *[NumCauses]time.Duration, causes facts, d time.Duration) {
	for ; causes != 0; causes &= causes - 1 {
		to[causes.first()] += d
	}
}
