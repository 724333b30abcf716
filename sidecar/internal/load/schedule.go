package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
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

// Until returns the part of s before d.
func (s Schedule) Until(d time.Duration) Schedule {
	for i, at := range s {
		if at >= d {
			return s[:i]
		}
	}
	return s
}

// Span returns the last arrival.
func (s Schedule) Span() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}

// maxLine bounds a line of a file of arrivals, in bytes.
const maxLine = 256

// Parse reads recorded arrivals: one per line, either whole nanoseconds (a
// number without a point) or seconds (a number with a point, or one that ends
// in s). Empty lines, and what follows a #, do not count. The first arrival
// becomes the beginning of the run, so any epoch will do. Arrivals at the same
// instant are set one nanosecond apart.
//
// Errors begin with name, the file's, and the line.
func Parse(name string, r io.Reader) (Schedule, error) {
	var s Schedule
	var first, last int64
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, maxLine), maxLine)
	line := 0
	for scanner.Scan() {
		line++
		text, _, _ := strings.Cut(scanner.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		at, err := parseInstant(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		case len(s) == 0:
			first = at
		case at < last:
			return nil, fmt.Errorf("%s:%d: arrival %s is before the one above it: sort the file (without a point it is nanoseconds)", name, line, text)
		case len(s) == MaxArrivals:
			return nil, fmt.Errorf("%s:%d: more than %d arrivals: split the file", name, line, MaxArrivals)
		case at-first < 0 || at-first > int64(MaxSpan):
			return nil, fmt.Errorf("%s:%d: arrival %s is more than %v after the first: split the file", name, line, text, MaxSpan)
		}
		last = at
		offset := time.Duration(at - first)
		if len(s) > 0 {
			offset = max(offset, s[len(s)-1]+1)
		}
		s = append(s, offset)
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: line is longer than %d bytes", name, line+1, maxLine)
	} else if err != nil {
		return nil, fmt.Errorf("read arrivals %s: %w", name, err)
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("%s: no arrivals: want one number per line", name)
	}
	return s, nil
}

// parseInstant returns nanoseconds: whole ones, or seconds with a point or an s.
// time.ParseDuration is exact where a float64 has no room for the nanoseconds of an
// epoch of fifty years, but takes more than is meant.
func parseInstant(text string) (int64, error) {
	digits, unit := text, "ns"
	switch whole, ns := strings.CutSuffix(text, "ns"); {
	case ns:
		digits = whole
	case strings.HasSuffix(text, "s") || strings.Contains(text, "."):
		digits, unit = strings.TrimSuffix(text, "s"), "s"
	}
	at, err := time.ParseDuration(digits + unit)
	if err != nil || strings.Trim(digits, "0123456789.") != "" || unit == "ns" && strings.Contains(digits, ".") {
		return 0, fmt.Errorf("parse arrival %.40q: want whole nanoseconds, or seconds with a point", text)
	}
	return int64(at), nil
}
