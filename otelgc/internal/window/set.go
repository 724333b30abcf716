package window

import "sync/atomic"

// Set has the windows of a process: those that are open and have a slot, and those that
// have ended and wait to be resolved.
type Set struct {
	Slots    *Slots
	Requests *Queue // windows that count as requests
	Asked    *Queue // windows whose callers want their shares, see Ended.Tell

	flush atomic.Bool
}

// NewSet returns a Set without windows. Those that count as requests go to a queue of the
// caller's.
func NewSet(requests *Queue) *Set {
	return &Set{Slots: NewSlots(), Requests: requests, Asked: &Queue{Asks: true}}
}

// Flush has the windows of Asked resolved with what is known.
func (s *Set) Flush() { s.flush.Store(true) }

// Flushing reports whether Flush was called since the last call.
func (s *Set) Flushing() bool { return s.flush.Swap(false) }

// Arrivals are how many windows ever came to each queue.
type Arrivals struct{ requests, asked uint64 }

// Came returns how many windows have come by now.
func (s *Set) Came() Arrivals { return Arrivals{s.Requests.Came(), s.Asked.Came()} }

// Took reports whether the windows that had come by then are taken.
func (s *Set) Took(by Arrivals) bool {
	return s.Requests.Went() >= by.requests && s.Asked.Went() >= by.asked
}

// Close has the queues take nothing from now on.
func (s *Set) Close() {
	s.Requests.Close()
	s.Asked.Close()
}
