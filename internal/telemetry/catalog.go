package telemetry

import (
	"log/slog"
	"strings"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// Instrument is the kind of an instrument, by its name in the OpenTelemetry
// specification.
type Instrument string

// The instruments in use.
const (
	Histogram         Instrument = "histogram"
	Counter           Instrument = "counter"
	Gauge             Instrument = "gauge"
	ObservableCounter Instrument = "observable counter"
	ObservableGauge   Instrument = "observable gauge"
	ObservableUpDown  Instrument = "observable updowncounter"
)

// Metric is what there is to know of a metric before a value is recorded.
type Metric struct {
	Name       string
	Instrument Instrument
	Unit       string   // UCUM
	Attributes []string // the only attributes its series may have
	Meaning    string
}

// integer reports whether the values of m are integers: sizes and counts.
func (m *Metric) integer() bool { return m.Unit == "By" || strings.HasPrefix(m.Unit, "{") }

// Metrics of every runtime.
var (
	pauseDuration = Metric{
		semconv.MetricPauseDuration, Histogram, "s",
		[]string{semconv.AttrGCKind, semconv.AttrPausePhase, semconv.AttrFidelity},
		"Stop-the-world pauses for garbage collection, one sample per pause, from the better fidelity; in cycle fidelity the geometric middle of the runtime's bucket.",
	}
	pauseTime = Metric{
		semconv.MetricPauseTime, Counter, "s", []string{semconv.AttrGCKind},
		"Time stopped for garbage collection; of a .NET process dotnet.gc.pause.time says it.",
	}
	suspendDuration = Metric{
		semconv.MetricSuspendDuration, Histogram, "s", []string{semconv.AttrGCKind},
		"Time it took to stop the threads for a pause; of a Go process the geometric middle of the runtime's bucket.",
	}
	promotedSize = Metric{
		semconv.MetricPromoted, Histogram, "By", []string{semconv.AttrGCKind, semconv.AttrGCTrigger},
		"Bytes that survived a collection, one sample per collection; in Go the bytes marked live.",
	}
	heapBefore = Metric{
		semconv.MetricHeapBefore, Histogram, "By", []string{semconv.AttrGCKind, semconv.AttrGCTrigger, semconv.AttrEstimated},
		"Heap when a collection began, one sample per collection.",
	}
	pauseUtilization = Metric{
		semconv.MetricPauseUtilization, Gauge, "1", []string{semconv.AttrWindow},
		"Share of wall time paused for garbage collection. For an interval take the rate of the pause time.",
	}
	suspensionDuration = Metric{
		semconv.MetricSuspensionDuration, Histogram, "s", []string{semconv.AttrReason},
		"Stop-the-world that was not for garbage collection.",
	}
	gapDuration = Metric{
		semconv.MetricGapDuration, Histogram, "s", []string{semconv.AttrCause, semconv.AttrScope, semconv.AttrMode, semconv.AttrCPU},
		"Stretches in which a probe did not run. The CPU is opt-in.",
	}
	observedTime = Metric{
		semconv.MetricObservedTime, Counter, "s", []string{semconv.AttrMode},
		"Time that a probe watched: the denominator, without which no gap proves nothing.",
	}
	coverage = Metric{
		semconv.MetricCoverage, Gauge, "1", []string{semconv.AttrSource},
		"Fraction of time that the source watched: of gcwatch and gotrace over the last 10 s, of a probe since it began, of others since their last status.",
	}
	droppedItems = Metric{
		semconv.MetricDropped, Counter, "{item}", []string{semconv.AttrItem, semconv.AttrErrorType},
		"Anything that was not kept, by what and why.",
	}
)

// lastMetrics are the gauges of the last collection of each kind, and what they
// say of it: no value if it is not known.
var lastMetrics = []struct {
	Metric
	of func(*gc.Collection) slog.Value
}{
	{lastMetric("index", "{collection}", "Number"), func(c *gc.Collection) slog.Value {
		if c.Index == 0 {
			return slog.Value{}
		}
		return slog.Int64Value(semconv.Int64(c.Index))
	}},
	{lastMetric("promoted", "By", "Bytes that survived"), func(c *gc.Collection) slog.Value { return semconv.Known(c.Promoted) }},
	{lastMetric("heap.before", "By", "Heap at the start"), func(c *gc.Collection) slog.Value { return semconv.Known(c.HeapBefore) }},
	{lastMetric("heap.after", "By", "Heap at the end"), func(c *gc.Collection) slog.Value { return semconv.Known(c.HeapAfter) }},
	{lastMetric("fragmentation.before", "By", "Fragmentation at the start"), func(c *gc.Collection) slog.Value { return semconv.Known(c.FragmentationBefore) }},
	{lastMetric("fragmentation.after", "By", "Fragmentation at the end"), func(c *gc.Collection) slog.Value { return semconv.Known(c.FragmentationAfter) }},
	{lastMetric("pause", "s", "Sum of the pauses"), func(c *gc.Collection) slog.Value {
		if len(c.Pauses) == 0 {
			return slog.Value{}
		}
		return slog.Float64Value(c.PauseTotal().Seconds())
	}},
}

func lastMetric(name, unit, meaning string) Metric {
	return Metric{semconv.MetricLastPrefix + name, ObservableGauge, unit, []string{semconv.AttrGCKind}, meaning + ", of the last collection of its kind."}
}

// Metrics of requests.
var (
	requestStall = Metric{
		semconv.MetricRequestStall, Histogram, "s", []string{semconv.AttrCause, semconv.AttrFidelity, semconv.AttrRoute, semconv.AttrTask},
		"Time that one cause cost one request, of the requests that were stalled by 10 us or more; queue is not among the causes.",
	}
	requestTime = Metric{
		semconv.MetricRequestTime, ObservableCounter, semconv.UnitSeconds, requestAttributes, semconv.MeaningRequestTime,
	}
	requestStallTime = Metric{
		semconv.MetricRequestStallTime, ObservableCounter, semconv.UnitSeconds,
		[]string{semconv.AttrCause, semconv.AttrLatencyBucket, semconv.AttrFidelity, semconv.AttrRoute, semconv.AttrTask}, semconv.MeaningRequestStallTime,
	}
	requestCount = Metric{
		semconv.MetricRequests, ObservableCounter, semconv.UnitRequests, requestAttributes, semconv.MeaningRequests,
	}
	requestAttributes = []string{semconv.AttrGCOverlap, semconv.AttrGCKind, semconv.AttrLatencyBucket, semconv.AttrFidelity, semconv.AttrRoute, semconv.AttrTask}
)

// The registry's metrics of a Go process. Names, units and descriptions are those
// of semantic conventions 1.43.
var (
	goPause = Metric{
		semconv.MetricGoPauseDuration, Histogram, "s", nil,
		"Distribution of individual GC-related stop-the-world pause latencies. This is the time from deciding to stop the world until the world is started again.",
	}
	goCycles = Metric{
		semconv.MetricGoCycles, Counter, "{gc_cycle}", []string{semconv.AttrGCKind, semconv.AttrGCTrigger},
		"Number of completed GC cycles.",
	}
	goCPUTime = Metric{
		semconv.MetricGoCPUTime, ObservableCounter, "s", []string{semconv.AttrGoCPUState, semconv.AttrGoCPUDetail},
		"Estimated CPU time spent by the Go runtime.",
	}
	goAllocated = Metric{
		semconv.MetricGoAllocated, ObservableCounter, "By", nil,
		"Memory allocated to the heap by the application.",
	}
)

// The registry's metrics of a .NET process, and one that is proposed to it. What
// it counts since the process began counts here since the sidecar attached: the
// start time of the series says when.
var (
	dotnetPause = Metric{
		semconv.MetricDotnetPauseDuration, Histogram, "s", []string{semconv.AttrPauseGeneration, semconv.AttrPauseType},
		"Duration of individual GC pauses. (Proposed to the registry.)",
	}
	dotnetCollections = Metric{
		semconv.MetricDotnetCollections, Counter, "{collection}", []string{semconv.AttrDotnetGeneration},
		"The number of garbage collections that have occurred since the process has started.",
	}
	dotnetAllocated = Metric{
		semconv.MetricDotnetAllocated, Counter, "By", nil,
		"The approximate number of bytes allocated on the managed GC heap since the process has started. The returned value does not include any native allocations.",
	}
	dotnetPauseTime = Metric{
		semconv.MetricDotnetPauseTime, Counter, "s", nil,
		"The total amount of time paused in GC since the process has started.",
	}
	dotnetHeapSize = Metric{
		semconv.MetricDotnetHeapSize, ObservableUpDown, "By", []string{semconv.AttrDotnetGeneration},
		"The managed GC heap size (including fragmentation), as observed during the latest garbage collection.",
	}
	dotnetFragmentation = Metric{
		semconv.MetricDotnetFragmentation, ObservableUpDown, "By", []string{semconv.AttrDotnetGeneration},
		"The heap fragmentation, as observed during the latest garbage collection.",
	}
)

// bounds are the explicit bucket bounds of every histogram of durations, in
// seconds. A View changes them.
func bounds() []float64 {
	return []float64{
		1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
		1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, .1, .25, .5, 1, 2.5,
	}
}

// sizeBounds are the explicit bucket bounds of every histogram of sizes: the
// powers of four from 64 KiB to 256 GiB.
func sizeBounds() (b []float64) {
	for size := float64(64 << 10); size <= 256<<30; size *= 4 {
		b = append(b, size)
	}
	return b
}
