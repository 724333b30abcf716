package probe

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// TestClock: it runs and has its lines. What the figures are is no matter of a test.
func TestClock(t *testing.T) {
	var out, log bytes.Buffer
	err := Clock().Run(t.Context(), []string{"-span", "700ms", "-after", "300ms", "-part", "200ms"}, &out, &log)
	if errors.Is(err, fs.ErrPermission) || err != nil && strings.Contains(err.Error(), "probe: ") {
		t.Skip(err)
	}
	if err != nil && !errors.Is(err, harness.ErrUnmet) {
		t.Fatal(err)
	}
	for _, want := range []string{"## Time stamps of the probe", "| 200ms |", "the least distance changed by"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestCompare has a clock that loses 10 ns in each part.
func TestCompare(t *testing.T) {
	var samples []stall.Instant
	var gaps []jitterprobe.Gap
	const n = 50
	for i := range 3 * n {
		at := stall.Instant(time.Hour) + stall.Instant(i)*stall.Instant(time.Millisecond)
		late := stall.Instant(10 * (i / n))
		samples = append(samples, at)
		if i%n != 7 { // one was not seen
			gaps = append(gaps, jitterprobe.Gap{Interval: stall.Interval{Start: at - 1000 - late, End: at + 2000 - late}})
		}
	}
	samples = append(samples, samples[len(samples)-1]+stall.Instant(time.Millisecond)) // of a part that is not whole
	parts := compare(samples, gaps, n*time.Millisecond)
	if len(parts) != 3 {
		t.Fatalf("%d parts, want 3", len(parts))
	}
	for i, p := range parts {
		if p.samples != n || p.inside != n-1 || p.shortest() != time.Duration(1000+10*i) {
			t.Errorf("part %d: %d samples, %d inside, shortest %v; want %d, %d, %v", i, p.samples, p.inside, p.shortest(), n, n-1, time.Duration(1000+10*i))
		}
	}
	if got := drift(parts, 1); got != 20 {
		t.Errorf("drift from the first part to the last: %v, want 20ns", got)
	}
	if got := drift(parts, 2); got != 10 {
		t.Errorf("drift from the first two parts to the last two: %v, want 10ns", got)
	}
}

// TestDriftVerdict: a drift of a microsecond and more is reported as an error.
func TestDriftVerdict(t *testing.T) {
	for _, test := range []struct {
		drift time.Duration
		word  string
		err   error
	}{{time.Microsecond, "1µs; met", nil}, {time.Microsecond + 1, "1µs; not met", harness.ErrUnmet}, {-time.Microsecond - 1, "1µs; not met", harness.ErrUnmet}} {
		first, last := 5*time.Microsecond, 5*time.Microsecond+test.drift
		e := &clock{span: 15 * time.Second, after: 10 * time.Second, part: 5 * time.Second}
		s := harness.NewPage("A clock", "x", io.Discard)
		err := e.write(s, 1, []*part{{into: []time.Duration{first}}, {into: []time.Duration{first}}, {into: []time.Duration{last}}})
		if !errors.Is(err, test.err) || !strings.Contains(s.String(), test.word) {
			t.Errorf("drift of %v: error %v, want %v, and %q in:\n%s", test.drift, err, test.err, test.word, s)
		}
	}
}
