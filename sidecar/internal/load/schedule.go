package load

import (
	"fmt"
	"time"
)

// Schedule holds the instants at which requests are to be sent, as offsets from
// the beginning of the run. They rise strictly, so that an arrival names its
// request.
type Schedule []time.Duration

// MaxArrivals bounds a schedule: the generator keeps 48 bytes for each.
const MaxArrivals = 1_000_000

// MaxSpan is the longest run.
const MaxSpan = time.Hour

// Fixed returns a schedule of so many arrivals per second, evenly spaced.
func Fixed(rate float64, span time.Duration) (Schedule, error) {
	n := rate * span.Seconds()
	switch {
	case !(rate > 0):
		return nil, fmt.Errorf("plan arrivals: rate %v: want more than 0", rate)
	case span <= 0 || span > MaxSpan:
		return nil, fmt.Errorf("plan arrivals: duration %v: want more than 0s and at most %v", span, MaxSpan)
	case !(n <= MaxArrivals):
		return nil, fmt.Errorf("plan arrivals: %v/s for %v are %.0f requests, at most %d: lower the rate or the duration", rate, span, n, MaxArrivals)
	case n < 1:
		return nil, fmt.Errorf("plan arrivals: %v/s for %v are less than one request", rate, span)
	}
	s := make(Schedule, int(n))
	for i := range s {
		s[i] = time.Duration(float64(i) / rate * float64(time.Second))
		if i > 0 && s[i] <= s[i-1] {
			s[i] = s[i-1] + 1
		}
	}
	return s, nil
}

// Span returns the last arrival.
func (s Schedule) Span() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}
