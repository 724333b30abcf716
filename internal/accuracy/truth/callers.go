package main

import (
	"context"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelgc/otelgc/semconv"
)

// callers counts who stopped the world, as the events say that the monitor sends.
type callers struct {
	provider *sdklog.LoggerProvider
	mu       sync.Mutex
	by       map[string]int
}

func newCallers() *callers {
	c := &callers{by: make(map[string]int)}
	c.provider = sdklog.NewLoggerProvider(sdklog.WithProcessor(c))
	return c
}

func (c *callers) stop(ctx context.Context) error { return c.provider.Shutdown(ctx) }

// Enabled says that every event is wanted.
func (c *callers) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit takes one event.
func (c *callers) OnEmit(_ context.Context, r *sdklog.Record) error {
	if r.EventName() != semconv.EventSuspension {
		return nil
	}
	r.WalkAttributes(func(v attribute.KeyValue) bool {
		if v.Key == semconv.AttrCodeFunction {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.by[v.Value.AsString()]++
		}
		return true
	})
	return nil
}

// Shutdown has nothing to end.
func (c *callers) Shutdown(context.Context) error { return nil }

// ForceFlush has nothing to send.
func (c *callers) ForceFlush(context.Context) error { return nil }

func (c *callers) seen() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}
