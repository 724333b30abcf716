package load_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFixed(t *testing.T) {
	got, err := load.Fixed(4, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := load.Schedule{0, 250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Fixed(4, 1s) (-want +got):\n%s", diff)
	}
	for _, bad := range []struct {
		rate float64
		span time.Duration
	}{{0, time.Second}, {-1, time.Second}, {1, 0}, {1, 2 * load.MaxSpan}, {1e9, time.Minute}, {0.1, time.Second}} {
		if _, err := load.Fixed(bad.rate, bad.span); err == nil {
			t.Errorf("Fixed(%v, %v): no error", bad.rate, bad.span)
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       load.Schedule
		err        string
	}{
		{name: "nanoseconds", text: "1000\n1500\n4000\n", want: load.Schedule{0, 500, 3000}},
		{name: "units", text: "1000ns\n1500ns\n", want: load.Schedule{0, 500}},
		{name: "seconds", text: "1732171486.000000001\n1732171486.5\n", want: load.Schedule{0, 499999999}},
		{name: "seconds with unit", text: "2s\n2.25s\n3s\n", want: load.Schedule{0, 250 * time.Millisecond, time.Second}},
		{name: "comments", text: "# epoch\n\n 0.0 # first\n0.000001\n", want: load.Schedule{0, 1000}},
		{name: "no line end", text: "5\n6", want: load.Schedule{0, 1}},
		{name: "the same instant", text: "7\n7\n7\n8\n", want: load.Schedule{0, 1, 2, 3}},
		{name: "more digits than nanoseconds", text: "0.0\n0.0000000019\n", want: load.Schedule{0, 1}},
		{name: "empty", text: "", err: "a.txt:0: no arrivals: want one number per line"},
		{name: "backwards", text: "2\n\n1\n", err: "a.txt:3: arrival 1 is before the one above it: sort the file"},
		{name: "no number", text: "1\nx\n", err: `a.txt:2: parse arrival "x": want whole nanoseconds, or seconds with a point`},
		{name: "negative", text: "-1\n", err: `a.txt:1: parse arrival "-1": want whole nanoseconds, or seconds with a point`},
		{name: "infinite", text: "Inf\n", err: `a.txt:1: parse arrival "Inf": want whole nanoseconds, or seconds with a point`},
		{name: "fraction of ns", text: "1.5ns\n", err: `a.txt:1: parse arrival "1.5ns": want whole nanoseconds, or seconds with a point`},
		{name: "too large", text: "99999999999999999999\n", err: `a.txt:1: parse arrival "99999999999999999999": want whole nanoseconds, or seconds with a point`},
		{name: "too long after", text: "0\n3600000000001\n", err: "a.txt:2: arrival 3600000000001 is more than 1h0m0s after the first: split the file"},
		{name: "long line", text: "1\n" + strings.Repeat("9", 1000), err: "a.txt:2: line is longer than 256 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := load.Parse("a.txt", strings.NewReader(tt.text))
			if text := errText(err); text != tt.err {
				t.Errorf("Parse: error %q, want %q", text, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseBoundsArrivals(t *testing.T) {
	text := strings.Repeat("1\n", load.MaxArrivals+1)
	if _, err := load.Parse("many", strings.NewReader(text)); err == nil {
		t.Errorf("Parse of %d arrivals: no error", load.MaxArrivals+1)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestParsePassesOnReadErrors(t *testing.T) {
	_, err := load.Parse("a.txt", brokenReader{})
	if want := "read arrivals a.txt: disk on fire"; errText(err) != want {
		t.Errorf("Parse: error %q, want %q", errText(err), want)
	}
}

// FuzzParse holds the parser to its contract: an error, or arrivals that begin
// at zero, rise strictly and stay in bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1\n2\n", "0.5\n0.75s\n", "# x\n1732171486.123456789\n", "7\n7\n", "1ns", "s", ".", "1.\n", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load.Parse("f", strings.NewReader(text))
		if (err != nil) == (s != nil) {
			t.Fatalf("Parse(%q) = %v, %v: want one of them", text, s, err)
		}
		for i, at := range s {
			if i == 0 && at != 0 || i > 0 && at <= s[i-1] {
				t.Fatalf("Parse(%q): arrival %d at %d after %v", text, i, at, s[:i])
			}
		}
		// Arrivals at one instant are spread by a nanosecond each.
		if s.Span() > load.MaxSpan+load.MaxArrivals {
			t.Fatalf("Parse(%q): last arrival at %v", text, s.Span())
		}
	})
}

func TestRunCountsFromTheIntendedStart(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var stalled sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.Header.Get("X-Arrival")
		if text == "" {
			return // the warm-up
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Errorf("header: %v", err)
		}
		stalled.Do(func() { time.Sleep(100 * time.Millisecond) })
		mu.Lock()
		defer mu.Unlock()
		seen[n] = true
		_, _ = w.Write([]byte(strings.Repeat("x", 5000))) // chunked
	}))
	defer server.Close()
	schedule, err := load.Fixed(100, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	out := load.Run(t.Context(), load.Options{
		Address: server.Listener.Addr().String(), Schedule: schedule, Clock: clock,
		Path: func(int) string { return "/" }, Header: "X-Arrival",
		Connections: 1, // so that all wait for the first
	})
	for i := range out.Answers {
		a := &out.Answers[i]
		if !a.OK() {
			t.Fatalf("answer %d of %d failed: %v", i, len(out.Answers), out.Failure)
		}
		if want := out.Start.Add(schedule[i]); a.Arrival != want || !seen[int64(want)] {
			t.Errorf("answer %d arrived at %d (seen by the service: %v), want %d", i, a.Arrival, seen[int64(want)], want)
		}
		// The handler sleeps from after the first arrival: whoever arrives in
		// the sleep waits for its end, though he was sent only then.
		if floor := 100*time.Millisecond - schedule[i]; a.Latency() < floor {
			t.Errorf("latency of request %d: %v, want at least %v", i, a.Latency(), floor)
		}
		if a.Sent < a.Arrival || a.Receipt < a.Sent {
			t.Errorf("answer %d out of order: %+v", i, *a)
		}
	}
}

func TestRunCountsFailures(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	out := load.Run(t.Context(), load.Options{
		Address: server.Listener.Addr().String(), Schedule: load.Schedule{0, 1000}, Clock: clock,
		Path: func(int) string { return "/" },
	})
	for i := range out.Answers {
		if out.Answers[i].OK() {
			t.Errorf("answer %d is ok, want it to have failed", i)
		}
	}
	if want := "read answer: status 404 Not Found"; errText(out.Failure) != want {
		t.Errorf("failure %q, want %q", errText(out.Failure), want)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := load.Run(ctx, load.Options{
		Address: server.Listener.Addr().String(), Schedule: load.Schedule{0, time.Hour}, Clock: clock,
		Path: func(int) string { return "/" },
	})
	if a := out.Answers[1]; a.Sent != 0 || a.OK() {
		t.Errorf("answer of a request an hour away: %+v, want it not to have been sent", a)
	}
}
