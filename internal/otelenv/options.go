package otelenv

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Options says what the environment does not.
type Options struct {
	// ServiceName is the service.name if the environment names none; the
	// SDK's unknown_service if empty.
	ServiceName string
	// Resource is added to what is detected; the environment overrides it.
	Resource []attribute.KeyValue
	// Other, if not nil, makes the telemetry that of another process of this
	// host: the resource is these attributes and the host's. Nothing is read of
	// this process, and of the environment only how to export.
	Other []attribute.KeyValue
	// UniqueKeys says that no event will have two attributes of one key: the SDK
	// does not search each for them, which costs about as much as all else that it
	// does for an event.
	UniqueKeys bool
	// LogQueue is how many events may wait to be exported if the environment
	// does not say (OTEL_BLRP_MAX_QUEUE_SIZE); 2048 if zero. The queue's memory
	// is taken at once, and a quarter more for what is exported together.
	LogQueue int
	// Traces asks for a provider of tracers.
	Traces bool
	// Spans, if not nil, returns the processor that spans go to instead of the
	// one that exports them, which it is given. It is not called where no spans
	// are exported.
	Spans func(exporting sdktrace.SpanProcessor) sdktrace.SpanProcessor
	// SpanQueue is how many spans may wait for their export if the environment
	// does not say; the SDK's 2048 if zero.
	SpanQueue int
}
