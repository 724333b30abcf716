package telemetry

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"
)

// post hands records to the logger, in order: those of a second before the status
// that answers for it. A logger of the program's may wait for anything. Then nobody
// here waits for it: an outbox calls it, and what finds no room there is counted, and
// is unseen in the next status.
type post struct {
	logger careful
	out    *Outbox // nil where the logger does not block
	asked  answers
	asking atomic.Bool
}

// queued is for how many seconds' worth of events there is room, and others is that
// for statuses.
const queued, others = 4, 64

// question is what a logger is asked before it is given a record.
type question struct {
	event    string
	severity log.Severity
}

// letter is a record on its way.
type letter struct {
	question
	record log.Record
	span   trace.SpanContext // a log SDK takes the record's TraceId from it
	lost   func()            // it was not taken
}

// wants reports whether the logger takes a record.
func (p *post) wants(q question) bool {
	if p.out == nil {
		return p.logger.enabled(context.Background(), q)
	}
	return p.asked.of(q)
}

// ask has the answers of a logger that nobody waits for be those of now.
func (p *post) ask() {
	if p.out == nil || !p.asking.CompareAndSwap(false, true) {
		return
	}
	if !p.out.Put(func(ctx context.Context) {
		defer p.asking.Store(false)
		p.asked.renew(func(q question) bool { return p.logger.enabled(ctx, q) })
	}) {
		p.asking.Store(false)
	}
}

// send has the logger given a record. It reports false if there is no room for it.
func (p *post) send(l letter) bool {
	if p.out == nil {
		p.deliver(context.Background(), &l)
		return true
	}
	return p.out.Put(func(ctx context.Context) {
		if p.logger.enabled(ctx, l.question) { // the answer may be an old one
			p.deliver(ctx, &l)
		} else {
			l.lost()
		}
	})
}

func (p *post) deliver(ctx context.Context, l *letter) {
	if l.span.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, l.span)
	}
	if !p.logger.emit(ctx, l.record) {
		l.lost()
	}
}

// answers are what a logger said last.
type answers struct {
	mu    sync.Mutex
	known map[question]bool
}

// of returns the answer to q. Until there is one it is yes.
func (a *answers) of(q question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	yes, known := a.known[q]
	if !known {
		if a.known == nil {
			a.known = make(map[question]bool)
		}
		a.known[q], yes = true, true
	}
	return yes
}

// renew asks everything anew that was asked before.
func (a *answers) renew(ask func(question) bool) {
	a.mu.Lock()
	all := make([]question, 0, len(a.known))
	for q := range a.known {
		all = append(all, q)
	}
	a.mu.Unlock()
	for _, q := range all {
		yes := ask(q)
		a.mu.Lock()
		a.known[q] = yes
		a.mu.Unlock()
	}
}
