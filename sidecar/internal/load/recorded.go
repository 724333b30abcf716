package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxLine bounds a line of a file of arrivals, in bytes.
const maxLine = 256

// Parse reads recorded arrivals: one per line, either whole nanoseconds (a
// number without a point) or seconds (a number with a point, or one that ends
// in s). Empty lines, and what follows a #, do not count. The first arrival
// becomes the beginning of the run, so any epoch will do. Arrivals at the same
// instant are set one nanosecond apart.
//
// name is the file's name in errors, which say the line.
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

// parseInstant returns nanoseconds. Seconds are taken apart as text, since a
// float64 has no room for the nanoseconds of an epoch of fifty years.
func parseInstant(text string) (int64, error) {
	digits, seconds := strings.CutSuffix(text, "s")
	if rest, ok := strings.CutSuffix(digits, "n"); ok && seconds {
		digits, seconds = rest, false
	}
	whole, fraction, point := strings.Cut(digits, ".")
	bad := fmt.Errorf("parse arrival %.40q: want whole nanoseconds, or seconds with a point", text)
	if point && text != digits && !seconds {
		return 0, bad // a fraction of a nanosecond
	}
	if !isDigits(whole) || point && !isDigits(fraction) {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, bad
	}
	if !point && !seconds {
		return n, nil
	}
	const second = int64(time.Second)
	if n > (1<<63-1)/second-1 {
		return 0, bad
	}
	fraction = (fraction + "000000000")[:9]
	f, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return 0, bad
	}
	return n*second + f, nil
}

func isDigits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
