package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// gapAt returns a gap of d that starts at the given microsecond.
func gapAt(us int64, d time.Duration, s stall.Origin) stall.Interval {
	start := stall.Instant(us * 1000)
	return stall.Interval{Start: start, End: start.Add(d), Cause: stall.HostUnknown, Origin: s, Scope: stall.ScopeCPU}
}

// nothing is the evidence of a gap that nothing decided.
func nothing() string { return "" }

// lengths returns name and duration of each record, in order.
func lengths(records []sdklog.Record) []string {
	var all []string
	for _, r := range records {
		d, _ := attr(r, semconv.AttrDuration)
		all = append(all, r.EventName()+" "+time.Duration(d.AsFloat64()*1e9+.5).String())
	}
	return all
}

func TestGapThreshold(t *testing.T) {
	r := newRig(t, Options{})
	r.Gap(gapAt(1, 10*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(100, 30*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(200, 20*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(300, 5*time.Microsecond, stall.ProbeRuntime), nothing)
	want := []string{"otelgc.jitter.gap 30µs", "otelgc.jitter.gap 5µs"}
	if diff := cmp.Diff(want, lengths(r.nextSecond())); diff != "" {
		t.Errorf("below the threshold, the longest of each source (-want +got):\n%s", diff)
	}

	r.Gap(gapAt(2_000_000, 60*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(2_001_000, 50*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(2_002_000, 90*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(2_003_000, 49*time.Microsecond, stall.ProbeSpin), nothing)
	want = []string{"otelgc.jitter.gap 60µs", "otelgc.jitter.gap 50µs", "otelgc.jitter.gap 90µs"}
	if diff := cmp.Diff(want, lengths(r.nextSecond())); diff != "" {
		t.Errorf("over the threshold, all of them (-want +got):\n%s", diff)
	}
	if got := r.nextSecond(); len(got) != 0 {
		t.Errorf("a quiet second sent %v", lengths(got))
	}
}

func TestTickWithinSecond(t *testing.T) {
	r := newRig(t, Options{})
	r.nextSecond()
	r.Gap(gapAt(1, time.Millisecond, stall.ProbeSpin), nothing)
	r.Tick(r.now.Add(100 * time.Millisecond))
	if got := r.events.taken(); len(got) != 0 {
		t.Errorf("tick within the second sent %v", lengths(got))
	}
	if got := r.nextSecond(); len(got) != 1 {
		t.Errorf("the second's end sent %v, want one gap", lengths(got))
	}
}

// TestRateLimit: the shortest gaps go first, then those of WARN, collections
// and suspensions last; what went is counted.
func TestRateLimit(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 5})
	for i := range int64(6) {
		r.Gap(gapAt(1000*i, time.Duration(100+10*i)*time.Microsecond, stall.ProbeSpin), nothing)
	}
	r.Gap(gapAt(100_000, 11*time.Millisecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(200_000, 20*time.Millisecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(300_000, 12*time.Millisecond, stall.ProbeSpin), nothing)
	for i := range int64(3) {
		r.Suspension(gapAt(400_000+i, time.Duration(1+i)*time.Microsecond, stall.GoTrace), "write_heap_dump", "", stall.Exact)
	}
	want := []string{
		"otelgc.jitter.gap 20ms", "otelgc.jitter.gap 12ms",
		"otelgc.suspension 1µs", "otelgc.suspension 2µs", "otelgc.suspension 3µs",
	}
	if diff := cmp.Diff(want, lengths(r.nextSecond())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantLoss := source.Loss{Count: 7, Time: 750*time.Microsecond + 11*time.Millisecond}
	if got := r.Loss(stall.ProbeSpin); got != wantLoss {
		t.Errorf("loss of the probe: got %v, want %v", got, wantLoss)
	}
	if got := r.Loss(stall.GoTrace); got != (source.Loss{}) {
		t.Errorf("loss of the trace: got %v, want none", got)
	}
	wantDropped := []string{"[error.type=rate_limit otelgc.item=event] = 7"}
	if diff := cmp.Diff(wantDropped, series1(t, r, semconv.MetricDropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

// series1 returns the series of one metric.
func series1(t *testing.T, r *rig, name string) []string {
	t.Helper()
	for _, m := range collect(t, r.reader) {
		if m.Name == name {
			lines := seriesOf(m)
			slices.Sort(lines)
			return lines
		}
	}
	return nil
}

// TestLongestAlways: the longest gap goes out however many others there are.
func TestLongestAlways(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 3})
	r.Gap(gapAt(1, 10*time.Microsecond, stall.ProbeSpin), nothing)
	for i := range int64(20) {
		c := gc.Collection{
			Index: uint64(i + 1), Cycles: 1, Kind: gc.Background, Origin: stall.GoTrace, Fidelity: stall.Exact,
			Pauses: []gc.Pause{{Start: stall.Instant(1000 * (i + 1)), End: stall.Instant(1000*(i+1) + 100)}},
		}
		r.Collection(&c)
	}
	got := lengths(r.nextSecond())
	if len(got) != 3 || !slices.Contains(got, "otelgc.jitter.gap 10µs") {
		t.Errorf("got %v, want three events with the only gap among them", got)
	}
	if got := r.Loss(stall.GoTrace).Count; got != 18 {
		t.Errorf("lost %d collections, want 18", got)
	}
}

func TestSeverity(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want log.Severity
	}{
		{0, log.SeverityDebug},
		{time.Millisecond - 1, log.SeverityDebug},
		{time.Millisecond, log.SeverityInfo},
		{10*time.Millisecond - 1, log.SeverityInfo},
		{10 * time.Millisecond, log.SeverityWarn},
		{time.Hour, log.SeverityWarn},
	} {
		r := newRig(t, Options{})
		r.Gap(gapAt(1, c.d, stall.ProbeSpin), nothing)
		got := r.nextSecond()
		if len(got) != 1 || got[0].Severity() != c.want {
			t.Errorf("severity of %v: got %v, want one event of %v", c.d, got, c.want)
		}
	}
}

// TestLesserEvents: a processor that takes no lesser events is not given them, and the
// status of a source is none.
func TestLesserEvents(t *testing.T) {
	r := newRig(t, Options{})
	r.events.least = log.SeverityInfo
	r.Gap(gapAt(1, 500*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(1000, 2*time.Millisecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(5000, 10*time.Microsecond, stall.ProbePeriodic), nothing)
	c := exactCollection()
	r.Collection(&c)
	r.Status(semconv.Status{Origin: stall.ProbeSpin, At: 1})
	want := []string{"otelgc.source.status 0s", "otelgc.jitter.gap 2ms"}
	if diff := cmp.Diff(want, lengths(r.nextSecond())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
