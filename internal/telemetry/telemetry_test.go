package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestAbsentFields: what a record does not know has no attribute and no sample.
func TestAbsentFields(t *testing.T) {
	r := newRig(t, Options{})
	r.Collection(&gc.Collection{Cycles: 3, Kind: gc.Background, Origin: stall.GCWatch})
	events := r.nextSecond()
	golden(t, "absent.txt", renderEvents(events)+renderMetrics(collect(t, r.reader)))
}

func TestWithoutGoMetrics(t *testing.T) {
	r := newRig(t, Options{})
	c := exactCollection()
	r.Collection(&c)
	r.GoPauses(1e-5, 2)
	r.GoTotals(GoTotals{User: gc.Known(time.Second), Allocated: gc.Known(gc.Bytes(1))})
	for _, m := range collect(t, r.reader) {
		if m.Name[:3] == "go." {
			t.Errorf("%s was recorded without GoMetrics", m.Name)
		}
	}
}

// TestReaders: every reader sees the same, each counter once.
func TestReaders(t *testing.T) {
	a, b := sdkmetric.NewManualReader(), sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(a), sdkmetric.WithReader(b))
	tel, err := New(Options{Meter: meters.Meter("otelgc"), GoMetrics: true})
	if err != nil {
		t.Fatal(err)
	}
	c := exactCollection()
	tel.Collection(&c)
	tel.GoTotals(GoTotals{User: gc.Known(time.Second)})
	first := renderMetrics(collect(t, a))
	if diff := cmp.Diff(first, renderMetrics(collect(t, b))); diff != "" {
		t.Errorf("readers differ (-a +b):\n%s", diff)
	}
	if diff := cmp.Diff(first, renderMetrics(collect(t, a))); diff != "" {
		t.Errorf("a second collection differs (-first +second):\n%s", diff)
	}
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
	for _, m := range collect(t, a) {
		if _, ok := m.Data.(metricdata.Gauge[int64]); ok {
			t.Errorf("%s is observed after Close", m.Name)
		}
	}
}

// TestLastKeepsNewest: a record of an earlier collection comes too late.
func TestLastKeepsNewest(t *testing.T) {
	r := newRig(t, Options{})
	for _, index := range []uint64{7, 9, 8} {
		c := exactCollection()
		c.Index = index
		r.Collection(&c)
	}
	want := []string{"[otelgc.gc.kind=background] = 9"}
	if diff := cmp.Diff(want, series1(t, r, semconv.MetricLastPrefix+"index")); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

// TestStatusWatermark: an event that is held holds the watermark back, one that
// went out does not.
func TestStatusWatermark(t *testing.T) {
	r := newRig(t, Options{})
	r.Gap(gapAt(500, time.Millisecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(3000, 2*time.Millisecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(200, 2*time.Millisecond, stall.ProbeRuntime), nothing)
	watermark := func() int64 {
		r.Status(semconv.Status{Origin: stall.ProbeSpin, At: 9_000_000, Watermark: 8_000_000})
		w, _ := attr(r.events.taken()[0], semconv.AttrWatermark)
		return w.AsInt64()
	}
	if got, want := watermark(), int64(500_000); got != want {
		t.Errorf("watermark with events held: got %d, want %d", got, want)
	}
	r.nextSecond()
	if got, want := watermark(), int64(8_000_000); got != want {
		t.Errorf("watermark: got %d, want %d", got, want)
	}
}

// TestWatermarkStands: a pause of which it is known only about where it was may begin,
// by its figures, before a watermark that was told without it.
func TestWatermarkStands(t *testing.T) {
	r := newRig(t, Options{})
	for _, status := range []struct{ watermark, want int64 }{{8_000_000, 8_000_000}, {9_000_000, 8_000_000}} {
		r.Status(semconv.Status{Origin: stall.GCWatch, At: 9_500_000, Watermark: stall.Instant(status.watermark)})
		w, _ := attr(r.events.taken()[0], semconv.AttrWatermark)
		if got := w.AsInt64(); got != status.want {
			t.Errorf("watermark: got %d, want %d", got, status.want)
		}
		r.Suspension(stall.Interval{Start: 7_900_000, End: 8_100_000, Slack: 200_000, Origin: stall.GCWatch}, "", "", stall.Cycle)
	}
}

func TestStatusBounds(t *testing.T) {
	r := newRig(t, Options{})
	var unseen []stall.Span
	for i := range stall.Instant(100) {
		unseen = append(unseen, stall.Span{Start: 10 * i, End: 10*i + 5})
	}
	r.Status(semconv.Status{Origin: stall.GoTrace, Unseen: unseen})
	record := r.events.taken()[0]
	start, _ := attr(record, semconv.AttrUnseenStart)
	end, _ := attr(record, semconv.AttrUnseenEnd)
	if got := len(start.AsInt64Slice()); got != semconv.MaxUnseen {
		t.Fatalf("got %d spans, want %d", got, semconv.MaxUnseen)
	}
	if got, want := start.AsInt64Slice()[semconv.MaxUnseen-1], int64(630); got != want {
		t.Errorf("last span starts at %d, want %d", got, want)
	}
	if got, want := end.AsInt64Slice()[semconv.MaxUnseen-1], int64(995); got != want {
		t.Errorf("last span ends at %d, want %d", got, want)
	}
}

func TestPauseBounds(t *testing.T) {
	r := newRig(t, Options{GoMetrics: true})
	c := gc.Collection{Cycles: 1, Origin: stall.Dotnet, Pauses: make([]gc.Pause, semconv.MaxPauses+5)}
	r.Collection(&c)
	r.GoPauses(1e-5, maxSamples+7)
	want := []string{"[error.type=limit otelgc.item=pause] = 12"}
	if diff := cmp.Diff(want, series1(t, r, semconv.MetricDropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	record := r.nextSecond()[0]
	if starts, _ := attr(record, semconv.AttrPauseStart); len(starts.AsInt64Slice()) != semconv.MaxPauses {
		t.Errorf("the event names %d pauses, want %d", len(starts.AsInt64Slice()), semconv.MaxPauses)
	}
}

func TestCloseSendsWhatIsHeld(t *testing.T) {
	r := newRig(t, Options{})
	r.Gap(gapAt(1, 10*time.Microsecond, stall.ProbeSpin), nothing)
	r.Gap(gapAt(2, 20*time.Microsecond, stall.ProbeSpin), nothing)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"otelgc.jitter.gap 20µs"}
	if diff := cmp.Diff(want, lengths(r.events.taken())); diff != "" {
		t.Errorf("events at Close (-want +got):\n%s", diff)
	}
	r.Gap(gapAt(3, time.Second, stall.ProbeSpin), nothing)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.nextSecond(); len(got) != 0 {
		t.Errorf("after Close: got %v, want nothing", lengths(got))
	}
}

// TestNobodyListens: without providers nothing is held, counted or kept.
func TestNobodyListens(t *testing.T) {
	tel, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := exactCollection()
	tel.Collection(&c)
	tel.Gap(gapAt(1, time.Second, stall.ProbeSpin), nothing)
	tel.Status(semconv.Status{Origin: stall.ProbeSpin})
	if events, over := tel.events.flush(true); len(events) != 0 || over != 0 {
		t.Errorf("held %d events, dropped %d, want none", len(events), over)
	}
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordAllocs: recording what becomes no event allocates nothing.
func TestRecordAllocs(t *testing.T) {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	tel, err := New(Options{Meter: meters.Meter("otelgc"), GoMetrics: true})
	if err != nil {
		t.Fatal(err)
	}
	c := exactCollection()
	record := func() {
		tel.Collection(&c)
		tel.Gap(gapAt(1, 10*time.Microsecond, stall.ProbeSpin), nothing)
		tel.Suspension(gapAt(1, 10*time.Microsecond, stall.GoTrace), "read_mem_stats", "", stall.Exact)
		tel.Observed(stall.ProbeSpin, time.Second)
	}
	record()
	if got := testing.AllocsPerRun(100, record); got != 0 {
		t.Errorf("recording allocates %v times, want 0", got)
	}
}

// TestConcurrent has everything called at once, for the race detector.
func TestConcurrent(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 10, GoMetrics: true})
	done := make(chan struct{})
	for range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range int64(200) {
				c := exactCollection()
				r.Collection(&c)
				r.Gap(gapAt(i, time.Duration(i)*time.Microsecond, stall.ProbeSpin), nothing)
				r.Suspension(gapAt(i, time.Duration(i), stall.GoTrace), "stop_trace", "", stall.Exact)
			}
		}()
	}
	var sent uint64
	count := func(records []sdklog.Record) {
		for _, e := range records {
			if e.EventName() != semconv.EventSourceStatus {
				sent++
			}
		}
	}
	for range 20 {
		count(r.nextSecond())
		r.Status(semconv.Status{Origin: stall.ProbeSpin})
		collect(t, r.reader)
	}
	for range 3 {
		<-done
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	count(r.events.taken())
	// Gaps below the threshold are not events, but for the longest.
	if got, least := sent+r.Loss(stall.ProbeSpin).Count+r.Loss(stall.GoTrace).Count, uint64(3*(200+200+150)); got < least {
		t.Errorf("sent and lost %d events together, want at least %d", got, least)
	}
}
