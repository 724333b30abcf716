package otelgc

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/otelgc/otelgc/semconv"
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
		fault  arrivalFault
	}{
		{"monotonic", ArrivalMonotonic, "999999999000", 999999999000, noFault},
		{"monotonic, at the start", ArrivalMonotonic, "1000000000000", start, noFault},
		{"monotonic, after the start", ArrivalMonotonic, "1000000000001", 0, notPlausible},
		{"monotonic, ten seconds before", ArrivalMonotonic, "990000000000", 990e9, noFault},
		{"monotonic, more than that", ArrivalMonotonic, "989999999999", 0, notPlausible},
		{"seconds", ArrivalUnixSeconds, "1700000999.5", 999.5e9, noFault},
		{"seconds, t=", ArrivalUnixSeconds, "t=1700000999.5", 999.5e9, noFault},
		{"seconds, NaN", ArrivalUnixSeconds, "NaN", 0, notParsed},
		{"seconds, Inf", ArrivalUnixSeconds, "+Inf", 0, notParsed},
		{"seconds, too many", ArrivalUnixSeconds, "9999999999", 0, notParsed},
		{"seconds, 1e300", ArrivalUnixSeconds, "1e300", 0, notParsed},
		{"seconds, negative", ArrivalUnixSeconds, "-1", 0, notParsed},
		{"milliseconds", ArrivalUnixMillis, "1700000999500", 999.5e9, noFault},
		{"milliseconds, t=", ArrivalUnixMillis, "t=1700000999500", 999.5e9, noFault},
		{"milliseconds, too many", ArrivalUnixMillis, "9223372036854775807", 0, notParsed},
		{"microseconds", ArrivalUnixMicros, "1700000999500000", 999.5e9, noFault},
		{"microseconds, a fraction", ArrivalUnixMicros, "1700000999500000.5", 0, notParsed},
		{"seconds, hexadecimal", ArrivalUnixSeconds, "0x6553f4e7", 0, notParsed},
		{"seconds, an exponent", ArrivalUnixSeconds, "1.7000009995e9", 0, notParsed},
		{"seconds, a sign", ArrivalUnixSeconds, "+1700000999.5", 0, notParsed},
		{"monotonic, a sign", ArrivalMonotonic, "+999999999000", 0, notParsed},
		{"monotonic, t=", ArrivalMonotonic, "t=999999999000", 0, notParsed},
		{"a list", ArrivalMonotonic, "999999999000, 999999999000", 0, notOne},
		{"a list with nothing", ArrivalMonotonic, "999999999000,", 0, notOne},
		{"nothing", ArrivalUnixMicros, "", 0, notParsed},
		{"long", ArrivalMonotonic, "0000000000000000000000000000000000000000000000000999999999000", 0, notParsed},
	} {
		a := arrivalHeader{name: "X-Request-Start", format: c.format}
		got, fault := a.of(http.Header{"X-Request-Start": {c.text}}, start, wall)
		if got != c.want || fault != c.fault {
			t.Errorf("%s: got %d with fault %d, want %d with %d", c.name, got, fault, c.want, c.fault)
		}
	}
	two := http.Header{"X": {"999999999000", "999999999000"}}
	if got, fault := (arrivalHeader{name: "X"}).of(two, start, wall); got != 0 || fault != notOne {
		t.Errorf("two headers: got %d with fault %d, want none with %d", got, fault, notOne)
	}
	if got, fault := (arrivalHeader{}).of(http.Header{"": {"1"}}, start, wall); got != 0 || fault != noFault {
		t.Errorf("without a name: got %d with fault %d", got, fault)
	}
	if got, fault := (arrivalHeader{name: "X"}).of(nil, start, wall); got != 0 || fault != noFault {
		t.Errorf("without a header: got %d with fault %d", got, fault)
	}
}

// TestArrivalsIgnoredAreCounted: who has named the wrong format, or whose proxy is on
// another clock, sees no arrival, and why.
func TestArrivalsIgnoredAreCounted(t *testing.T) {
	metrics, meters := newSums()
	m := startTest(t, meters, WithExactBudget(0), WithArrivalHeader("X-Request-Start", ArrivalUnixMillis))
	h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	at := func(texts ...string) {
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, text := range texts {
			q.Header.Add("X-Request-Start", text)
		}
		h.ServeHTTP(httptest.NewRecorder(), q)
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	at()
	at(now, now) // the client's, and the proxy's that adds its own
	at(now + ", " + now)
	at(strconv.FormatInt(time.Now().UnixMilli()-5, 10))
	at("1700000000.123")
	at("t=now")
	at(strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
	shutdown(t, m)
	got := metrics.by(t, semconv.MetricDropped, semconv.AttrErrorType)
	for why, want := range map[string]float64{"parse": 2, "out_of_range": 1, "several": 2} {
		if got[why] != want {
			t.Errorf("%v arrivals are dropped for %s, want %v", got[why], why, want)
		}
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
		at, fault := a.of(http.Header{"X": {text}}, stall.Instant(start), time.Duration(wall))
		if (at == 0) != (fault != noFault) {
			t.Errorf("%q of %d: arrival %d with fault %d", text, format, at, fault)
		}
		if at == 0 {
			return
		}
		if at > stall.Instant(start) || at < stall.Instant(start).Add(-maxArrivalAge) {
			t.Errorf("%s of %s: %d is no arrival at %d", text, strconv.Itoa(int(format)), at, start)
		}
	})
}
