package telemetry

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"
)

// queuedSeconds is for how many seconds' worth of events there is room in an
// eventQueue, and queuedStatuses for how many statuses.
const queuedSeconds, queuedStatuses = 4, 64

// eventQueue hands records to the logger, in order: those of a second before the
// status that answers for it.
//
// Loggers may block, so one that is not ours is called on a goroutine of an
// [Outbox]. A record for which there is no room is counted, and unseen in the next
// status. A panic of the program's processors costs the record, counted, and not
// the program.
type eventQueue struct {
	logger log.Logger
	out    *Outbox   // nil where the logger does not block
	lost   func(any) // a record is lost to a panic

	asking  atomic.Bool
	mu      sync.Mutex
	enabled map[kind]bool // what the logger said last
}

// kind is what a logger is asked of before it is given a record.
type kind struct {
	event    string
	severity log.Severity
}

// record is on its way to the logger.
type record struct {
	kind
	log.Record
	span trace.SpanContext // a log SDK takes the record's TraceId from it
	lost func()            // it was not taken
}

// wants reports whether the logger takes a record. Of a logger that may block the
// answer is that of the last second, and true until there is one.
func (q *eventQueue) wants(k kind) bool {
	if q.out == nil {
		return q.isEnabled(context.Background(), k)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	yes, known := q.enabled[k]
	if !known {
		if q.enabled == nil {
			q.enabled = make(map[kind]bool)
		}
		q.enabled[k], yes = true, true
	}
	return yes
}

// ask has a logger that may block asked anew what it was asked before.
func (q *eventQueue) ask() {
	if q.out == nil || !q.asking.CompareAndSwap(false, true) {
		return
	}
	if !q.out.Put(func(ctx context.Context) {
		defer q.asking.Store(false)
		q.mu.Lock()
		var all []kind
		for k := range q.enabled {
			all = append(all, k)
		}
		q.mu.Unlock()
		for _, k := range all {
			yes := q.isEnabled(ctx, k)
			q.mu.Lock()
			q.enabled[k] = yes
			q.mu.Unlock()
		}
	}) {
		q.asking.Store(false)
	}
}

// send has the logger given a record. It reports false if there is no room for it.
func (q *eventQueue) send(r record) bool {
	if q.out == nil {
		q.emit(context.Background(), &r)
		return true
	}
	return q.out.Put(func(ctx context.Context) {
		if q.isEnabled(ctx, r.kind) { // the answer of wants may be an old one
			q.emit(ctx, &r)
		} else {
			r.lost()
		}
	})
}

func (q *eventQueue) emit(ctx context.Context, r *record) {
	defer survive(func(panicked any) {
		q.lost(panicked)
		r.lost()
	})
	if r.span.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, r.span)
	}
	q.logger.Emit(ctx, r.Record)
}

func (q *eventQueue) isEnabled(ctx context.Context, k kind) bool {
	defer survive(q.lost)
	return q.logger.Enabled(ctx, log.EnabledParameters{Severity: k.severity, EventName: k.event})
}
