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

// handOn hands on the spans of parcels, and tells of the slow ones once they were
// taken.
func (i *instance) handOn(ctx context.Context, parcels []*attribution.Parcel, slow *instance) (err error) {
	if len(parcels) == 0 {
		return nil
	}
	spans, told := ptrace.NewTraces(), plog.NewLogs()
	for _, p := range parcels {
		p.Spans.ResourceSpans().MoveAndAppendTo(spans.ResourceSpans())
		p.Slow.ResourceLogs().MoveAndAppendTo(told.ResourceLogs())
	}
	if err = i.out.traces.ConsumeTraces(ctx, spans); err != nil {
		i.telemetry.refused("spans")
	} else if slow != nil && told.LogRecordCount() > 0 {
		slow.tellNow(ctx, told)
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

// close has nothing sent any more, and waits for what is under way. Who still takes
// something when ctx is over is told that nobody waits for it.
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

// mostTold is how much of the events of slow spans may wait to be told, in bytes as
// they are sent: spans that nobody waits for do not wait for who hears of them.
const mostTold = 4 << 20

var errSlow = errors.New("tell events: the next component has too many before them")

// telling is what is yet to be told of slow spans; guarded by state.mu.
type telling struct {
	waiting []plog.Logs
	sizes   []int // of them
	bytes   int   // of all, with those that are being told
	busy    bool  // a goroutine tells
}

// tell hands events on behind those that wait, and does not wait for it.
func (i *instance) tell(ld plog.Logs) {
	i.complain("events", i.tellLater(ld, sizer.LogsSize(ld)))
}

var sizer plog.ProtoMarshaler

func (i *instance) tellLater(ld plog.Logs, bytes int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch q := &i.telling; {
	case i.closed:
		return errStopped
	case q.bytes > mostTold-bytes:
		return errSlow
	default:
		q.waiting, q.sizes = append(q.waiting, ld), append(q.sizes, bytes)
		q.bytes += bytes
		if !q.busy {
			q.busy = true
			i.sending.Go(i.tellAll)
		}
		return nil
	}
}

// tellAll tells until nothing waits.
func (i *instance) tellAll() {
	for told := 0; ; {
		i.mu.Lock()
		q := &i.telling
		q.bytes -= told
		if len(q.waiting) == 0 {
			*q = telling{}
			i.mu.Unlock()
			return
		}
		ld := q.waiting[0]
		told = q.sizes[0]
		q.waiting, q.sizes = q.waiting[1:], q.sizes[1:]
		i.mu.Unlock()
		err := i.ctx.Err()
		if err == nil {
			err = i.out.logs.ConsumeLogs(i.ctx, ld)
		}
		i.complain("events", err)
	}
}

// tellNow hands events on for a sender that waits. It gives them half of the time
// that the sender has left, as its spans were taken and it must know.
func (i *instance) tellNow(ctx context.Context, ld plog.Logs) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	i.complain("events", i.send(func(context.Context) error { return i.out.logs.ConsumeLogs(ctx, ld) }))
}
