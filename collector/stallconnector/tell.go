package stallconnector

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
)

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
