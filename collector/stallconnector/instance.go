package stallconnector

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// outputs is where an instance sends to; at most one of them is set.
type outputs struct {
	traces  consumer.Traces
	metrics consumer.Metrics
	logs    consumer.Logs
}

// none reports whether nothing leaves by an instance: it takes in events.
func (o outputs) none() bool { return o.traces == nil && o.metrics == nil && o.logs == nil }

// instance is the connector between two signals.
type instance struct {
	*state
	out       outputs
	consuming sync.WaitGroup // of callers that wait; none is added once it has stopped

	ctx     context.Context // of what is sent
	cancel  context.CancelFunc
	closed  bool           // nothing may be sent; guarded by state.mu
	sending sync.WaitGroup // of what is under way; none is added once it is closed
	telling telling
}

// Capabilities says that spans are changed where they are handed on.
func (i *instance) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: i.out.traces != nil}
}

// Start starts what the instances share.
func (i *instance) Start(context.Context, component.Host) error { return i.state.start() }

// Shutdown hands on what is held, with what is known. No caller waits any longer
// when it returns, or ctx is over.
func (i *instance) Shutdown(ctx context.Context) error { return i.state.stop(ctx, i) }

// ConsumeLogs learns from the events among the records, if it is this instance
// that does.
func (i *instance) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	if i.state.learns(i) {
		i.attributor.Learn(ld)
	}
	return nil
}

// ConsumeTraces holds the spans, if it is this instance that does. It returns at
// once, or with [Config.WaitForResult] when they were handed on. What it has taken
// when it stops goes on; then it takes nothing any more.
func (i *instance) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	if i.config.WaitForResult && i.out.traces != nil {
		return i.deliver(ctx, td)
	}
	sink, mine, err := i.enter(i)
	if mine {
		defer i.consuming.Done()
		i.attributor.Hold(td, sink, time.Now())
	}
	return err
}
