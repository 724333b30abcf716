package otelgc

import (
	"context"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// askedMeters counts how often it is to export.
type askedMeters struct {
	metric.MeterProvider
	asked atomic.Int64
}

func (p *askedMeters) ForceFlush(context.Context) error {
	p.asked.Add(1)
	return nil
}

// TestLastExport is asked of the provider that has the monitor's instruments, be it
// made the global one after Start: until then that is a stand-in, which exports
// nothing.
func TestLastExport(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	for _, c := range []struct {
		name  string
		set   func(p *askedMeters) []Option
		later bool
		want  int64
	}{
		{"an option", func(p *askedMeters) []Option { return []Option{WithMeterProvider(p)} }, false, 1},
		{"the global one", func(p *askedMeters) []Option { otel.SetMeterProvider(p); return nil }, false, 1},
		{"the global one from later on", func(*askedMeters) []Option { otel.SetMeterProvider(before); return nil }, true, 1},
		{"one that it has nothing to do with", func(*askedMeters) []Option { return []Option{WithMeterProvider(noop.NewMeterProvider())} }, true, 0},
	} {
		p := &askedMeters{MeterProvider: noop.NewMeterProvider()}
		m := startTest(t, append(c.set(p), WithExactBudget(0))...)
		if c.later {
			otel.SetMeterProvider(p)
		}
		shutdown(t, m)
		if got := p.asked.Load(); got != c.want {
			t.Errorf("%s: asked %d times to export, want %d", c.name, got, c.want)
		}
	}
}
