package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// class orders events by how late they go when there are too many.
type class uint8

const (
	classGap     class = iota // gaps below WARN
	classWarn                 // gaps of WARN and above
	classRuntime              // collections and suspensions
)

// held is an event that waits for the end of its second.
type held struct {
	name     string
	class    class
	rank     time.Duration // within its class, the shortest goes first
	v        stall.Interval
	attrs    []attribute.KeyValue
	evidence string            // of a gap, whose attrs are made when it goes out
	span     trace.SpanContext // of a slow request
	stops    []stall.Span      // of the world, where they may lie
}

// source is who saw a stall and must say so if the event is late or lost. A slow
// request is no stall: nobody joins with it.
func (h *held) source() stall.Origin {
	if h.name == semconv.EventSlowRequest {
		return stall.NoOrigin
	}
	return h.v.Origin
}
