package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/log"
)

// careful is the program's logger, as it is called on goroutines of our own:
// nobody stands above them who could stop a panic of the program's processors.
// Here it costs the event, counted, and not the program.
type careful struct {
	log.Logger
	t *Telemetry
}

// emit reports false if the record is lost to a panic.
func (c careful) emit(ctx context.Context, r log.Record) (ok bool) {
	defer c.survive(ctx)
	c.Emit(ctx, r)
	return true
}

func (c careful) enabled(ctx context.Context, q question) bool {
	defer c.survive(ctx)
	return c.Enabled(ctx, log.EnabledParameters{Severity: q.severity, EventName: q.event})
}

func (c careful) survive(ctx context.Context) {
	if p := recover(); p != nil {
		c.t.countDropped(ctx, itemEvent, whyPanic, 1)
		c.t.o.OnPanic("a processor of the provider of loggers", p)
	}
}
