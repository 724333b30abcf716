package main

import (
	"context"
	"sync"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// keptSpans is a span processor that keeps what has ended.
type keptSpans struct {
	mu  sync.Mutex
	all []sdktrace.ReadOnlySpan
}

func (*keptSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (*keptSpans) Shutdown(context.Context) error                  { return nil }
func (*keptSpans) ForceFlush(context.Context) error                { return nil }

func (k *keptSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, s)
}

// of returns the span with an id.
func (k *keptSpans) of(id trace.SpanID) sdktrace.ReadOnlySpan {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.all {
		if s.SpanContext().SpanID() == id {
			return s
		}
	}
	return nil
}

// keptEvents is a log processor that keeps every record.
type keptEvents struct {
	mu  sync.Mutex
	all []sdklog.Record
}

func (*keptEvents) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*keptEvents) Shutdown(context.Context) error                         { return nil }
func (*keptEvents) ForceFlush(context.Context) error                       { return nil }

func (k *keptEvents) OnEmit(_ context.Context, r *sdklog.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, r.Clone())
	return nil
}

// named returns the records of an event.
func (k *keptEvents) named(event string) (records []sdklog.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.all {
		if r.EventName() == event {
			records = append(records, r)
		}
	}
	return records
}
