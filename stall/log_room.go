package stall

import "math"

// Size returns how many intervals are kept, and for how many there is room.
func (l *Log) Size() (kept, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, len(l.ring)
}

// Resize makes room for so many intervals, at least one, and allocates once for
// it. What finds no room any more is forgotten, from the oldest on, as by
// [Log.Add]. So a log that belongs to many may begin small and take memory as it
// comes to need it; a log that is not resized has all its memory from the start.
func (l *Log) Resize(intervals int) {
	ring := make([]kept, max(1, intervals)) // readers need not wait for the memory
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.n > len(ring) {
		l.forgetOldest()
	}
	l.maxSlack = 0
	until := Instant(math.MinInt64)
	for i := range l.n {
		v := l.at(i).Interval
		l.maxSlack = max(l.maxSlack, v.slack())
		until = max(until, v.reach().End)
		ring[i] = kept{v, until}
	}
	l.ring, l.oldest = ring, 0
}

// Forget says that the time before t is not needed any more: it
// forgets intervals from the oldest on, up to the first that may reach beyond t.
// The floor rises to the end of what is forgotten, and stays where nothing is.
func (l *Log) Forget(t Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.n > 0 && l.at(0).reach().End <= t {
		l.forgetOldest()
	}
}
