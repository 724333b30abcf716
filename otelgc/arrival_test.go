package otelgc

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func TestArrival(t *testing.T) {
	const start = stall.Instant(1000e9)
	const wall = 1_700_000_000 * time.Second // wall = instant + wall
	for _, c := range []struct {
		name   string
		format ArrivalFormat
		text   string
		want   stall.Instant // 0: ignored
	}{
		{"monotonic", ArrivalMonotonic, "999999999000", 999999999000},
		{"monotonic, at the start", ArrivalMonotonic, "1000000000000", start},
		{"monotonic, after the start", ArrivalMonotonic, "1000000000001", 0},
		{"monotonic, ten seconds before", ArrivalMonotonic, "990000000000", 990e9},
		{"monotonic, more than that", ArrivalMonotonic, "989999999999", 0},
		{"seconds", ArrivalUnixSeconds, "1700000999.5", 999.5e9},
		{"seconds, t=", ArrivalUnixSeconds, "t=1700000999.5", 999.5e9},
		{"seconds, NaN", ArrivalUnixSeconds, "NaN", 0},
		{"seconds, Inf", ArrivalUnixSeconds, "+Inf", 0},
		{"seconds, too many", ArrivalUnixSeconds, "9999999999", 0},
		{"seconds, 1e300", ArrivalUnixSeconds, "1e300", 0},
		{"seconds, negative", ArrivalUnixSeconds, "-1", 0},
		{"milliseconds", ArrivalUnixMillis, "1700000999500", 999.5e9},
		{"milliseconds, t=", ArrivalUnixMillis, "t=1700000999500", 999.5e9},
		{"milliseconds, too many", ArrivalUnixMillis, "9223372036854775807", 0},
		{"microseconds", ArrivalUnixMicros, "1700000999500000", 999.5e9},
		{"microseconds, a fraction", ArrivalUnixMicros, "1700000999500000.5", 0},
		{"nothing", ArrivalUnixMicros, "", 0},
		{"long", ArrivalMonotonic, "0000000000000000000000000000000000000000000000000999999999000", 0},
	} {
		a := arrivalHeader{name: "X-Request-Start", format: c.format}
		got := a.of(http.Header{"X-Request-Start": {c.text}}, start, wall)
		if got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	if got := (arrivalHeader{}).of(http.Header{"": {"1"}}, start, wall); got != 0 {
		t.Errorf("without a name: got %d", got)
	}
	if got := (arrivalHeader{name: "X"}).of(nil, start, wall); got != 0 {
		t.Errorf("without a header: got %d", got)
	}
}

// FuzzArrival: whatever a client sends, an arrival is within the ten seconds
// before the start, or it is none.
func FuzzArrival(f *testing.F) {
	for _, s := range []string{"999999999000", "t=1700000999.5", "NaN", "1e300", "-0", "9223372036854775807", "0x1p62"} {
		for format := range ArrivalUnixMicros + 1 {
			f.Add(s, uint8(format), int64(1000e9), int64(1_700_000_000e9))
		}
	}
	f.Fuzz(func(t *testing.T, text string, format uint8, start, wall int64) {
		start &= math.MaxInt64 >> 1
		a := arrivalHeader{name: "X", format: ArrivalFormat(format)}
		at := a.of(http.Header{"X": {text}}, stall.Instant(start), time.Duration(wall))
		if at == 0 {
			return
		}
		if at > stall.Instant(start) || at < stall.Instant(start).Add(-maxArrivalAge) {
			t.Errorf("%s of %s: %d is no arrival at %d", text, strconv.Itoa(int(format)), at, start)
		}
	})
}
