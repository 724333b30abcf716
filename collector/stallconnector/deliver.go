package stallconnector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

var errStopped = errors.New("take spans: the connector has stopped")

// deliver holds spans, hands them on, and returns what came of it: until then
// they are the sender's to keep.
func (i *instance) deliver(ctx context.Context, td ptrace.Traces) (err error) {
	sink, slow, mine, err := i.enter(i)
	if !mine {
		return err
	}
	defer i.consuming.Done()
	left := td.ResourceSpans().Len()
	ready := make(chan *attribution.Parcel, left)
	sink.Waits, sink.Take = ctx, func(p *attribution.Parcel) { ready <- p }
	i.attributor.Hold(td, sink, time.Now())
	for gone := ctx.Done(); left > 0; {
		var parcels []*attribution.Parcel
		select {
		case p := <-ready:
			parcels = append(parcels, p)
		case <-gone:
		}
		if gone != nil && ctx.Err() != nil {
			// Nobody says that the sender will try again. So they go on, and
			// may come twice, rather than not at all.
			gone = nil
			i.telemetry.abandoned()
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.attributor.Wait())
			defer cancel()
			ctx = detached
		}
		for range len(ready) {
			parcels = append(parcels, <-ready)
		}
		left -= len(parcels)
		err = better(err, i.handOn(ctx, parcels, slow))
	}
	return err
}

// handOn hands on the spans of parcels, and the events of the slow ones once the spans
// were taken.
func (i *instance) handOn(ctx context.Context, parcels []*attribution.Parcel, slow *instance) (err error) {
	if len(parcels) == 0 {
		return nil
	}
	spans, events := ptrace.NewTraces(), plog.NewLogs()
	for _, p := range parcels {
		p.Spans.ResourceSpans().MoveAndAppendTo(spans.ResourceSpans())
		p.Slow.ResourceLogs().MoveAndAppendTo(events.ResourceLogs())
	}
	if err = i.out.traces.ConsumeTraces(ctx, spans); err != nil {
		i.telemetry.refused("spans")
	} else if slow != nil && events.LogRecordCount() > 0 {
		slow.sendEvents(ctx, events)
	}
	for _, p := range parcels {
		p.Done(err == nil)
	}
	return err
}

// better returns the error that leaves more hope: with one that is permanent the
// sender would give up the rest too.
func better(a, b error) error {
	if a == nil || b != nil && consumererror.IsPermanent(a) {
		return b
	}
	return a
}

// send hands something on to whoever stands behind i, unless that is about to stop.
func (i *instance) send(consume func(context.Context) error) error {
	i.mu.Lock()
	closed := i.closed
	if !closed {
		i.sending.Add(1)
	}
	i.mu.Unlock()
	if closed {
		return errStopped
	}
	defer i.sending.Done()
	return consume(i.ctx)
}

// close has nothing sent any more, and waits for what is under way. A call
// that still runs when ctx is over is cancelled.
func (i *instance) close(ctx context.Context) error {
	defer i.cancel()
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	return within(ctx, i.sending.Wait)
}

// within waits for f to return, at most until ctx is over.
func within(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done: // in time all the same
		return nil
	default:
		return fmt.Errorf("wait for the next component: %w", context.Cause(ctx))
	}
}

// maxQueued bounds the events of slow spans that wait for the next component, in bytes
// as they are sent. Spans do not wait for it.
const maxQueued = 4 << 20

var errSlow = errors.New("hand on events: the next component has too many before them")

// eventQueue holds events of slow spans; guarded by state.mu.
type eventQueue struct {
	waiting []queuedEvents
	bytes   int  // of all, with those that are being handed on
	busy    bool // a goroutine hands them on
}

type queuedEvents struct {
	plog.Logs
	bytes int
}

// queueEvents hands events on behind those that wait, and does not wait for it.
func (i *instance) queueEvents(ld plog.Logs) {
	i.logRefused("events", i.enqueue(queuedEvents{ld, sizer.LogsSize(ld)}))
}

var sizer plog.ProtoMarshaler

func (i *instance) enqueue(e queuedEvents) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := &i.events
	switch {
	case i.closed:
		return errStopped
	case q.bytes > maxQueued-e.bytes:
		return errSlow
	}
	q.waiting = append(q.waiting, e)
	q.bytes += e.bytes
	if !q.busy {
		q.busy = true
		i.sending.Go(i.sendQueued)
	}
	return nil
}

// sendQueued hands events on until none wait.
func (i *instance) sendQueued() {
	for sent := 0; ; {
		i.mu.Lock()
		q := &i.events
		q.bytes -= sent
		if len(q.waiting) == 0 {
			*q = eventQueue{}
			i.mu.Unlock()
			return
		}
		e := q.waiting[0]
		q.waiting, sent = q.waiting[1:], e.bytes
		i.mu.Unlock()
		err := i.ctx.Err()
		if err == nil {
			err = i.out.logs.ConsumeLogs(i.ctx, e.Logs)
		}
		i.logRefused("events", err)
	}
}

// sendEvents hands events on for a sender that waits. It gives them half of the time
// that the sender has left, as its spans were taken and it must know.
func (i *instance) sendEvents(ctx context.Context, ld plog.Logs) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	i.logRefused("events", i.send(func(context.Context) error { return i.out.logs.ConsumeLogs(ctx, ld) }))
}
