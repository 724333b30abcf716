package stallconnector

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

var errStopped = errors.New("take spans: the connector has stopped")

// deliver holds spans, hands them on, and returns what came of it: until then
// they are the sender's to keep.
func (i *instance) deliver(ctx context.Context, td ptrace.Traces) (err error) {
	sink, mine, err := i.enter(i)
	if !mine {
		return err
	}
	defer i.consuming.Done()
	slow := i.teller()
	b := i.attributor.HoldBatch(td, sink, dueFor(ctx, time.Now(), i.attributor.Wait()))
	for gone := ctx.Done(); ; {
		select {
		case <-b.More():
		case <-gone:
		}
		if gone != nil && ctx.Err() != nil {
			// Nobody says that the sender will try again. So they go on, and
			// may come twice, rather than not at all.
			gone = nil
			i.telemetry.abandoned()
			b.Hurry()
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.attributor.Wait())
			defer cancel()
			ctx = detached
		}
		p, all := b.Take()
		err = better(err, i.handOn(ctx, p, slow))
		if all {
			return err
		}
	}
}

// handOn hands on a parcel, and tells of its slow spans once they were taken.
func (i *instance) handOn(ctx context.Context, p *attribution.Parcel, slow *instance) (err error) {
	if p.Spans.ResourceSpans().Len() > 0 {
		err = i.out.traces.ConsumeTraces(ctx, p.Spans)
	}
	if err != nil {
		i.telemetry.refused("spans")
	} else if slow != nil && p.Slow.LogRecordCount() > 0 {
		slow.tellNow(ctx, p.Slow)
	}
	p.Done(err == nil)
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

// dueFor returns until when spans may be held: for wait, and for four fifths of
// the time that their sender gives. The last fifth is for handing them on: a
// sender that gave up would send them again, for ever.
func dueFor(ctx context.Context, now time.Time, wait time.Duration) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, deadline.Sub(now)/5*4)
	}
	return now.Add(wait)
}
