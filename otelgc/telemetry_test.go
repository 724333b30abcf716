package otelgc

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// recorder keeps the records that the SDK would export.
type recorder struct {
	mu      sync.Mutex
	records []sdklog.Record
}

func (*recorder) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*recorder) Shutdown(context.Context) error                         { return nil }
func (*recorder) ForceFlush(context.Context) error                       { return nil }

func (r *recorder) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record.Clone())
	return nil
}

// of returns the attributes of the events of a name.
func (r *recorder) of(name string) (all []map[string]attribute.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.records {
		if r.records[i].EventName() != name {
			continue
		}
		attrs := map[string]attribute.Value{}
		r.records[i].WalkAttributes(func(kv attribute.KeyValue) bool {
			attrs[string(kv.Key)] = kv.Value
			return true
		})
		all = append(all, attrs)
	}
	return all
}

// statuses returns those of one source.
func (r *recorder) statuses(s stall.Origin) (all []map[string]attribute.Value) {
	for _, a := range r.of(semconv.EventSourceStatus) {
		if a[semconv.AttrSource].AsString() == s.String() {
			all = append(all, a)
		}
	}
	return all
}

type rig struct {
	reader *sdkmetric.ManualReader
	events recorder
}

func newRig() *rig { return &rig{reader: sdkmetric.NewManualReader()} }

func (r *rig) apply(c config) config {
	c.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	c.loggers = sdklog.NewLoggerProvider(sdklog.WithProcessor(&r.events))
	return c
}

func (r *rig) metrics(t *testing.T) map[string]metricdata.Aggregation {
	t.Helper()
	var m metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &m); err != nil {
		t.Fatal(err)
	}
	all := map[string]metricdata.Aggregation{}
	for _, s := range m.ScopeMetrics {
		if s.Scope.Name != ScopeName {
			t.Errorf("scope %q, want %q", s.Scope.Name, ScopeName)
		}
		for _, one := range s.Metrics {
			all[one.Name] = one.Data
		}
	}
	return all
}

// TestTelemetryOfAGoProcess: after some collections and a stop that is not for
// one, everything that the contract names for a Go process is there.
func TestTelemetryOfAGoProcess(t *testing.T) {
	r := newRig()
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic})
	if err != nil {
		t.Fatal(err)
	}
	m := startTest(t, WithExactBudget(1), r, WithSource(probe), seam(talkative))
	waitMarking(t, m)
	for range 5 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	until(t, "three statuses of each source", func() bool {
		return len(r.events.statuses(stall.GCWatch)) >= 3 && len(r.events.statuses(stall.GoTrace)) >= 3
	})
	flush(t, m)
	until(t, "the event of the suspension", func() bool {
		return slices.ContainsFunc(r.events.of(semconv.EventSuspension), func(a map[string]attribute.Value) bool {
			return strings.Contains(a[semconv.AttrReason].AsString(), "mem stats")
		})
	})
	checkMetrics(t, r.metrics(t))
	if len(r.events.of(semconv.EventCollection)) == 0 {
		t.Error("no event of a collection")
	}
	checkStatuses(t, &r.events)
	shutdown(t, m)
	if left := r.metrics(t)["go.memory.allocated"]; left != nil {
		t.Error("a callback is still registered after Shutdown")
	}
}

func checkMetrics(t *testing.T, got map[string]metricdata.Aggregation) {
	t.Helper()
	for _, name := range []string{
		semconv.MetricGoPauseDuration, semconv.MetricGoCycles, semconv.MetricGoCPUTime, semconv.MetricGoAllocated,
		semconv.MetricPauseDuration, semconv.MetricPauseTime, semconv.MetricSuspendDuration, "otelgc.gc.pause.utilization",
		semconv.MetricPromoted, semconv.MetricHeapBefore, semconv.MetricSuspensionDuration,
		semconv.MetricObservedTime, semconv.MetricCoverage,
		semconv.MetricLastPrefix + "index", semconv.MetricLastPrefix + "promoted", semconv.MetricLastPrefix + "heap.before",
		semconv.MetricLastPrefix + "pause",
	} {
		if got[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

// checkStatuses: watermarks never fall, lie before the status itself, and not
// long before it.
func checkStatuses(t *testing.T, events *recorder) {
	t.Helper()
	for _, source := range []stall.Origin{stall.GCWatch, stall.GoTrace} {
		last := int64(0)
		for i, a := range events.statuses(source) {
			mark, end := a[semconv.AttrWatermark].AsInt64(), a[semconv.AttrEnd].AsInt64()
			if mark < last || mark > end {
				t.Errorf("%v, status %d: watermark %d after %d, of a status at %d", source, i, mark, last, end)
			}
			last = mark
			if a[semconv.AttrBootID].AsString() == "" && runtime.GOOS == "linux" {
				t.Errorf("%v: a status without a boot id", source)
			}
		}
		if last == 0 {
			t.Errorf("%v: no watermark", source)
		}
	}
}

// TestSuspensionWithoutTheTracer is told by the watcher, once.
func TestSuspensionWithoutTheTracer(t *testing.T) {
	r := newRig()
	m := startTest(t, WithExactBudget(0), r)
	const stops = 3
	for range stops {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
	}
	if err := m.flushCycles(t.Context()); err != nil {
		t.Fatal(err)
	}
	shutdown(t, m)
	count := uint64(0)
	h, _ := r.metrics(t)[semconv.MetricSuspensionDuration].(metricdata.Histogram[float64])
	for _, p := range h.DataPoints {
		count += p.Count
	}
	if count < stops {
		t.Errorf("%d stops in the histogram, want at least %d", count, stops)
	}
	if list, dropped := m.Suspensions(0); uint64(len(list))+dropped != count {
		t.Errorf("%d suspensions are to be had and %d dropped, want the %d of the histogram", len(list), dropped, count)
	}
}

func TestDroppedIsCounted(t *testing.T) {
	skipIfTraced(t)
	r := newRig()
	m := startTest(t, WithExactBudget(1), r)
	waitMarking(t, m)
	m.tel.Dropped("slice", "test", 3)
	sum, _ := r.metrics(t)[semconv.MetricDropped].(metricdata.Sum[int64])
	got := int64(0)
	for _, p := range sum.DataPoints {
		got += p.Value
	}
	if got < 3 {
		t.Errorf("%s: got %d, want at least 3", semconv.MetricDropped, got)
	}
}
