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

func lastMetric(name string, unit, meaning string) Metric {
	return Metric{semconv.MetricLastPrefix + name, ObservableGauge, unit, []string{semconv.AttrGCKind}, meaning + ", of the last collection of its kind."}
}

var (
	lastIndex      = lastMetric("index", "{collection}", "Number")
	lastPromoted   = lastMetric("promoted", "By", "Bytes that survived")
	lastBefore     = lastMetric("heap.before", "By", "Heap at the start")
	lastAfter      = lastMetric("heap.after", "By", "Heap at the end")
	lastFragBefore = lastMetric("fragmentation.before", "By", "Fragmentation at the start")
	lastFragAfter  = lastMetric("fragmentation.after", "By", "Fragmentation at the end")
	lastPause      = lastMetric("pause", "s", "Sum of the pauses")

	lastMetrics = []Metric{lastIndex, lastPromoted, lastBefore, lastAfter, lastFragBefore, lastFragAfter, lastPause}
)

// lastRecord is what the gauges say of one collection.
type lastRecord struct {
	known                                                bool
	index                                                uint64
	promoted, before, after, fragmentBefore, fragmentEnd gc.Maybe[gc.Bytes]
	pause                                                gc.Maybe[time.Duration]
}

// lastCollections keeps the last record of each kind. One callback reads all of
// one record at once, so that the gauges are never of two collections.
type lastCollections struct {
	mu     sync.Mutex
	byKind [gc.NumKinds]lastRecord
}

// put keeps c, unless it is of an earlier collection than what is there: a
// better fidelity may report late.
func (l *lastCollections) put(c *gc.Collection) {
	if c.Kind >= gc.NumKinds {
		return
	}
	r := lastRecord{
		known: true, index: c.Index,
		promoted: c.Promoted, before: c.HeapBefore, after: c.HeapAfter,
		fragmentBefore: c.FragmentationBefore, fragmentEnd: c.FragmentationAfter,
	}
	if len(c.Pauses) > 0 {
		r.pause = gc.Known(c.PauseTotal())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := &l.byKind[c.Kind]; c.Index == 0 || c.Index >= old.index {
		*old = r
	}
}

func (l *lastCollections) snapshot() [gc.NumKinds]lastRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKind
}

// make makes the gauges and returns what registers their callback.
func (l *lastCollections) make(m *maker) func() (metric.Registration, error) {
	index, promoted := m.observedGauge(lastIndex), m.observedGauge(lastPromoted)
	before, after := m.observedGauge(lastBefore), m.observedGauge(lastAfter)
	fragBefore, fragAfter := m.observedGauge(lastFragBefore), m.observedGauge(lastFragAfter)
	pause := m.observedSeconds(lastPause)
	byKind := observeKinds()

	observe := func(_ context.Context, o metric.Observer) error {
		records := l.snapshot()
		for kind, r := range records {
			if !r.known {
				continue
			}
			of := byKind[kind]
			if r.index > 0 {
				o.ObserveInt64(index, asInt64(r.index), of)
			}
			for _, v := range []struct {
				gauge metric.Int64Observable
				bytes gc.Maybe[gc.Bytes]
			}{
				{promoted, r.promoted},
				{before, r.before},
				{after, r.after},
				{fragBefore, r.fragmentBefore},
				{fragAfter, r.fragmentEnd},
			} {
				if n, ok := v.bytes.Get(); ok {
					o.ObserveInt64(v.gauge, asInt64(n), of)
				}
			}
			if d, ok := r.pause.Get(); ok {
				o.ObserveFloat64(pause, d.Seconds(), of)
			}
		}
		return nil
	}
	return func() (metric.Registration, error) {
		return m.register(observe, index, promoted, before, after, fragBefore, fragAfter, pause)
	}
}

// observeKinds returns the attributes of each kind, ready for a callback.
func observeKinds() (by [gc.NumKinds]metric.ObserveOption) {
	for kind := range by {
		by[kind] = metric.WithAttributeSet(attribute.NewSet(kindAttribute(gc.Kind(kind))...))
	}
	return by
}
