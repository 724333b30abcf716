package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// make makes the instruments and returns what registers the callback.
func (i *requestInstruments) make(m *maker) func() (metric.Registration, error) {
	i.sums.routes = make(map[string]*[latencyBuckets][2]tally)
	i.stall = m.durations(requestStall)
	i.byStall = newSeries(func(k stallKey) []attribute.KeyValue {
		a := []attribute.KeyValue{
			attribute.String(semconv.AttrCause, k.cause.String()),
			attribute.String(semconv.AttrFidelity, k.fidelity.String()),
		}
		if k.route != "" {
			a = append(a, attribute.String(semconv.AttrRoute, k.route))
		}
		return a
	})
	i.ready = make(map[requestSeries]metric.ObserveOption)
	total, owned, count := m.observedTime(requestTime), m.observedTime(requestStallTime), m.observedCounter(requestCount)
	observe := func(_ context.Context, o metric.Observer) error {
		i.sums.mu.Lock()
		defer i.sums.mu.Unlock()
		i.each(func(k requestSeries, t *tally) {
			t.delayed(func(overlap string, kind gc.Kind, h *hits) {
				k := k
				k.overlap, k.kind = overlap, kind
				o.ObserveInt64(count, h.count, i.option(k))
				o.ObserveFloat64(total, h.time.Seconds(), i.option(k))
			})
			t.owners(func(owner string, d time.Duration) {
				k := k
				k.owner = owner
				o.ObserveFloat64(owned, d.Seconds(), i.option(k))
			})
		})
		return nil
	}
	return func() (metric.Registration, error) { return m.register(observe, total, owned, count) }
}

// each yields the tallies that hold a request, in the same order every time.
func (i *requestInstruments) each(yield func(requestSeries, *tally)) {
	for _, route := range i.sums.names {
		all := i.sums.routes[route]
		for b := range all {
			for f := range all[b] {
				t := &all[b][f]
				if t.hits != [len(overlaps)][gc.NumKinds]hits{} {
					yield(requestSeries{route: route, bucket: latencyBounds[b].name, fidelity: stall.Fidelity(f)}, t)
				}
			}
		}
	}
}

// delayed yields the requests by the collections that delayed them.
func (t *tally) delayed(yield func(overlap string, kind gc.Kind, h *hits)) {
	for n := range t.hits {
		for kind := range t.hits[n] {
			if h := &t.hits[n][kind]; h.count > 0 {
				yield(overlaps[n], gc.Kind(kind), h)
			}
		}
	}
}

// owners yields who had time.
func (t *tally) owners(yield func(string, time.Duration)) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if t.cause[c] > 0 {
			yield(c.String(), t.cause[c])
		}
	}
	for n, d := range t.rest {
		if d > 0 {
			yield(restNames[n], d)
		}
	}
}

// option returns the attributes of k, made once. It is called with the lock
// held; routes are bounded, and so is what is kept.
func (i *requestInstruments) option(k requestSeries) metric.ObserveOption {
	o, ok := i.ready[k]
	if !ok {
		o = metric.WithAttributeSet(attribute.NewSet(k.attributes()...))
		i.ready[k] = o
	}
	return o
}
