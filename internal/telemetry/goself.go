package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// The registry's metrics of a Go process; names, units and descriptions are
// those of semantic conventions 1.43.
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

	goMetrics = []Metric{goPause, goCycles, goCPUTime, goAllocated}
)

// GoTotals is one reading of what the Go runtime counts since the process
// began. What is not known is not exported.
type GoTotals struct {
	// CPU times by the classes of runtime/metrics, /cpu/classes/...
	GCAssist, GCDedicated, GCIdle, GCPause gc.Maybe[time.Duration]
	ScavengeAssist, ScavengeBackground     gc.Maybe[time.Duration]
	User, Idle                             gc.Maybe[time.Duration]
	// Allocated is /gc/heap/allocs:bytes.
	Allocated gc.Maybe[gc.Bytes]
}

// goInstruments holds the registry's go.* metrics; the zero value records
// nothing.
type goInstruments struct {
	pause     metric.Float64Histogram
	cycle     metric.Int64Counter
	byTrigger *series[triggerSeries]

	mu     sync.Mutex
	totals GoTotals
}

// GoPauses records count pauses that the runtime counted in the bucket whose
// geometric middle is given, in seconds, whatever the fidelity.
func (t *Telemetry) GoPauses(middle float64, count uint64) {
	ctx := context.Background()
	if t.goSelf.pause == nil || !t.goSelf.pause.Enabled(ctx) {
		return
	}
	t.repeat(ctx, count, func() { t.goSelf.pause.Record(ctx, middle) })
}

// maxSamples bounds the samples of one bucket of one reading: a histogram of
// the API takes them one by one. What is above is counted as dropped.
const maxSamples = 1 << 14

func (t *Telemetry) repeat(ctx context.Context, count uint64, record func()) {
	for range min(count, maxSamples) {
		record()
	}
	if count > maxSamples {
		t.countDropped(ctx, itemPause, whyLimit, count-maxSamples)
	}
}

// GoTotals replaces the reading that the observable go.* counters export.
func (t *Telemetry) GoTotals(g GoTotals) {
	t.goSelf.mu.Lock()
	defer t.goSelf.mu.Unlock()
	t.goSelf.totals = g
}

func (i *goInstruments) cycles(ctx context.Context, c *gc.Collection) {
	if i.cycle != nil && c.Cycles > 0 && i.cycle.Enabled(ctx) {
		i.cycle.Add(ctx, int64(c.Cycles), i.byTrigger.add(triggerSeries{kind: c.Kind, trigger: triggerOf(c)})...)
	}
}

// make makes the instruments and returns what registers the callback.
func (i *goInstruments) make(m *maker) func() (metric.Registration, error) {
	i.pause, i.cycle = m.durations(goPause), m.count(goCycles)
	i.byTrigger = newSeries(func(k triggerSeries) []attribute.KeyValue {
		return append(kindAttribute(k.kind), attribute.String(semconv.AttrGCTrigger, string(k.trigger)))
	})
	cpu, allocated := m.observedTime(goCPUTime), m.observedCounter(goAllocated)
	classes := cpuClasses()
	observe := func(_ context.Context, o metric.Observer) error {
		i.mu.Lock()
		totals := i.totals
		i.mu.Unlock()
		for _, class := range classes {
			if d, ok := class.of(&totals).Get(); ok {
				o.ObserveFloat64(cpu, d.Seconds(), class.attributes)
			}
		}
		if n, ok := totals.Allocated.Get(); ok {
			o.ObserveInt64(allocated, asInt64(n))
		}
		return nil
	}
	return func() (metric.Registration, error) { return m.register(observe, cpu, allocated) }
}

type cpuClass struct {
	attributes metric.ObserveOption
	of         func(*GoTotals) gc.Maybe[time.Duration]
}

// cpuClasses returns the leaves of /cpu/classes, so that their sum over all
// attributes is the total.
func cpuClasses() []cpuClass {
	class := func(state, detail string, of func(*GoTotals) gc.Maybe[time.Duration]) cpuClass {
		set := attribute.NewSet(attribute.String(semconv.AttrGoCPUState, state), attribute.String(semconv.AttrGoCPUDetail, detail))
		return cpuClass{metric.WithAttributeSet(set), of}
	}
	return []cpuClass{
		class("gc", "gc/mark/assist", func(g *GoTotals) gc.Maybe[time.Duration] { return g.GCAssist }),
		class("gc", "gc/mark/dedicated", func(g *GoTotals) gc.Maybe[time.Duration] { return g.GCDedicated }),
		class("gc", "gc/mark/idle", func(g *GoTotals) gc.Maybe[time.Duration] { return g.GCIdle }),
		class("gc", "gc/pause", func(g *GoTotals) gc.Maybe[time.Duration] { return g.GCPause }),
		class("scavenge", "scavenge/assist", func(g *GoTotals) gc.Maybe[time.Duration] { return g.ScavengeAssist }),
		class("scavenge", "scavenge/background", func(g *GoTotals) gc.Maybe[time.Duration] { return g.ScavengeBackground }),
		class("user", "user", func(g *GoTotals) gc.Maybe[time.Duration] { return g.User }),
		class("idle", "idle", func(g *GoTotals) gc.Maybe[time.Duration] { return g.Idle }),
	}
}
