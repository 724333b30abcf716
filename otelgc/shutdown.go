package otelgc

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
)

// Flush waits until every collection and every window that has ended by now is
// settled, or ctx ends. It takes up to three seconds, the deadline of a source.
func (m *Monitor) Flush(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if err := m.flushCycles(ctx); err != nil {
		return err
	}
	m.loop.waiting.Add(1)
	defer m.loop.waiting.Add(-1)
	came := m.windows.Came()
	if err := m.loop.turned(ctx); err != nil {
		return err
	}
	// The time is the loop's: the caller may be in a bubble, with a time of its own.
	now := stall.Instant(m.loop.lately.Load())
	for !m.windows.Took(came) || m.timeline.Waiting(now) {
		if err := m.loop.wait(ctx, m.loop.over()); err != nil || m.loop.stopped() {
			return err
		}
	}
	// A batch that is taken is resolved when the loop is through its turn.
	return m.loop.turned(ctx)
}

// Shutdown stops watching. It ends a slice that is being traced, resolves what
// can be resolved, sends the events that are held, and has a provider of meters
// that can (ForceFlush) export the last values; the providers are not its to shut
// down. It returns when nothing of the monitor runs any more, or with ctx's error when
// ctx ends: the rest then ends by itself. A function of [WithOnPause], and a logger of
// [WithSlowRequest], and the files of otelgc/capture, are waited for at most a second each; the processors of the
// provider of loggers, and the handler of errors, as long as ctx has time for them,
// unless one takes nothing for a second. What they do not take is counted, and one that
// hangs keeps its goroutine until it returns.
func (m *Monitor) Shutdown(ctx context.Context) error {
	if m == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.end.once.Do(func() {
			m.stop(ctx)
			started.Store(false)
		})
	}()
	select {
	case <-done:
		return m.end.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends everything, sources first.
func (m *Monitor) stop(ctx context.Context) {
	if m.cycles.watcher != nil {
		m.exact.Stop()
		_ = m.cycles.watching.close() // these two have no error
		_ = m.machine.reading.close()
	}
	for _, a := range m.added {
		if err := a.close(); err != nil {
			m.operator.report(fmt.Errorf("close source: %w", err))
		}
	}
	m.loop.stop()
	m.last(ctx)
	m.finishEvents(ctx)
	m.finishCalls(ctx)
	m.machine.side.Close()
	m.exportLast(ctx)
	m.finishErrors(ctx)
	m.end.err = m.tel.Close()
}

// last settles what is left with what is known: nothing will be known better.
func (m *Monitor) last(ctx context.Context) {
	now := m.here.clock.Now()
	m.exact.Store.LearnUnseen(now)
	m.machine.side.CountNow(now)
	late := now.Add(2 * timeline.Deadline)
	m.timeline.Settle(late, m.machine.side.Passed(late), m.settled, m.reportUnknown)
	m.windows.Close()
	m.resolver.Resolve(late)
	m.finishCaptures(ctx)
	m.tel.Flush()
	m.status.next = 0
	m.status.tell(now)
}

// callPatience is how long Shutdown waits for the program's own functions, and at least
// for the processors of its loggers. One of them may be what calls Shutdown.
const callPatience = time.Second

// finishEvents lets the provider of loggers have the events that it was sent, and counts
// what it does not take.
func (m *Monitor) finishEvents(ctx context.Context) {
	enough, cancel := timeToFinish(ctx, 2*callPatience+lastExport)
	defer cancel()
	m.tel.Finish(enough)
}

// finishErrors does the same for the handler of errors, when nothing is reported any more.
func (m *Monitor) finishErrors(ctx context.Context) {
	enough, cancel := timeToFinish(ctx, 0)
	defer cancel()
	m.tel.Dropped("error", "shutdown", uint64(m.operator.out.Close(enough)))
}

// timeToFinish returns a context that ends with ctx, or before its deadline by what
// the rest of a shutdown may take; but after callPatience at the soonest. What
// finishes after ctx is not waited for any longer, and a healthy logger needs less.
func timeToFinish(ctx context.Context, rest time.Duration) (context.Context, context.CancelFunc) {
	early, stop := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		early, stop = context.WithDeadline(ctx, end.Add(-rest))
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	least := time.AfterFunc(callPatience, func() { context.AfterFunc(early, cancel) })
	return own, func() {
		least.Stop()
		stop()
		cancel()
	}
}

// finishCaptures lets the slow requests have their files.
func (m *Monitor) finishCaptures(ctx context.Context) {
	if c := m.hooks.capturer.Load(); c != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
		defer cancel()
		(*c).Close(ctx)
	}
}

// finishCalls lets the program's functions have what is queued for them, and counts
// what they do not take. It does not wait where ctx has ended.
func (m *Monitor) finishCalls(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	m.tel.Dropped("on_pause", "shutdown", m.hooks.pause.stop(ctx))
	m.tel.Dropped("slow_request", "shutdown", m.hooks.slow.stop(ctx))
}

// exporter is a provider of meters that exports when it is asked to, as the SDK's
// does.
type exporter interface {
	ForceFlush(ctx context.Context) error
}

// lastExport bounds what the end of a monitor waits for a Collector. An export
// that takes longer is the provider's to finish or to give up.
const lastExport = time.Second

// exportLast has the provider export what the observed metrics say last: their
// callbacks end with the monitor, and the provider's own last export finds none.
// The provider reports its own errors, and exports once more when it ends.
func (m *Monitor) exportLast(ctx context.Context) {
	e, ok := m.tel.meters.MeterProvider.(exporter)
	if !ok && m.tel.meters.global {
		// Until the program sets the global provider, that is a stand-in, which exports
		// nothing and hands its instruments on to the one that is set.
		e, ok = otel.GetMeterProvider().(exporter)
	}
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastExport)
	defer cancel()
	m.operator.safely("metric_export", "the provider of meters", func() { _ = e.ForceFlush(ctx) })
}
