package attribution

import (
	"slices"
	"time"
)

// service is a service that is known by name.
type service struct {
	serviceSums
	began time.Time // zero: before anybody ticked
	last  time.Time // that a request counted
}

// idleService is how long a service has no request until another may have its place.
// It was exported many times meanwhile.
const idleService = time.Hour

// room reports whether another service may have sums of its own. Where there is no
// room the one that was idle longest makes way: its series end, and begin anew at a
// later time if it comes back.
func (s *sums) room(name serviceName) bool {
	return s.fits(name) || s.makeWay() && s.fits(name)
}

// fits counts the sums of another service if there is room.
func (s *sums) fits(name serviceName) bool {
	named := len(s.order)
	if s.services[otherServices] != nil {
		named--
	}
	return named < s.most && s.account.sum(name.weight())
}

// makeWay forgets the service that was idle longest, for idleService at least. It
// reports false if there is none, which it looks for once a tick.
func (s *sums) makeWay() bool {
	if s.looked.Equal(s.now) {
		return false
	}
	at := -1
	for i, name := range s.order {
		last := s.services[name].last
		if name != otherServices && s.now.Sub(last) >= idleService && (at < 0 || last.Before(s.services[s.order[at]].last)) {
			at = i
		}
	}
	if at < 0 {
		s.looked = s.now
		return false
	}
	name := s.order[at]
	delete(s.services, name)
	s.order = slices.Delete(s.order, at, at+1)
	s.account.unsum(name.weight())
	s.forgotten++
	return true
}

// gone returns how many services made way.
func (s *sums) gone() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// tick lets time pass.
func (s *sums) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}
