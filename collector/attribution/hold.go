package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Sink says what becomes of spans. The fields that are nil or false want nothing.
type Sink struct {
	// Traces gets each span once, with its attributes, at the latest after
	// Wait; the data is then the sink's. It is called without a lock.
	Traces func(ptrace.Traces)
	// Slow gets one event for each span of Config.SlowSpan or longer.
	Slow func(plog.Logs)
	// Count adds the server and consumer spans to the sums.
	Count bool
}

// held are the spans of one resource.
type held struct {
	spans ptrace.Traces
	id    identity
	n     int
	bytes int
	due   time.Time
	end   int64 // of the last span, Unix ns
	sink  Sink
}

// queue holds spans in the order in which they came, which is that of due.
type queue struct {
	waiting      []held
	spans, bytes int
}

// Hold takes spans in. They go to the sink when every source of their host has
// passed them. With a Sink that wants traces, td must be the caller's own to
// give away; otherwise it is only read, and must not be changed any more.
func (a *Attributor) Hold(td ptrace.Traces, sink Sink, now time.Time) {
	if past := a.hold(td, sink, now); past != nil {
		sink.Traces(*past)
	}
}

// hold returns what there was no room for, if anybody wants it.
func (a *Attributor) hold(td ptrace.Traces, sink Sink, now time.Time) (past *ptrace.Traces) {
	var sizer ptrace.ProtoMarshaler
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, rs := range td.ResourceSpans().All() {
		h := held{spans: ptrace.NewTraces(), due: now.Add(a.config.Wait), sink: sink, bytes: sizer.ResourceSpansSize(rs)}
		for _, ss := range rs.ScopeSpans().All() {
			h.n += ss.Spans().Len()
			for _, s := range ss.Spans().All() {
				h.end = max(h.end, clamp(s.EndTimestamp()))
			}
		}
		h.id = identify(rs.Resource().Attributes())
		if over := a.held.spans+h.n > a.config.MaxSpans || a.held.bytes+h.bytes > a.config.MaxBytes; over {
			a.lost.SpansOverLimit += uint64(h.n)
			if sink.Traces != nil {
				if past == nil {
					t := ptrace.NewTraces()
					past = &t
				}
				rs.MoveTo(past.ResourceSpans().AppendEmpty())
			}
			continue
		}
		if sink.Traces != nil {
			rs.MoveTo(h.spans.ResourceSpans().AppendEmpty())
		} else {
			rs.CopyTo(h.spans.ResourceSpans().AppendEmpty())
		}
		a.held.put(h)
	}
	return past
}

func (q *queue) put(h held) {
	q.waiting = append(q.waiting, h)
	q.spans += h.n
	q.bytes += h.bytes
}

// take moves what is ready to out.
func (q *queue) take(out []held, ready func(*held) bool) []held {
	kept := q.waiting[:0]
	for i := range q.waiting {
		h := &q.waiting[i]
		if !ready(h) {
			kept = append(kept, *h)
			continue
		}
		q.spans -= h.n
		q.bytes -= h.bytes
		out = append(out, *h)
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	return out
}

// release joins what is ready, or everything, and hands it on.
func (a *Attributor) release(now time.Time, all bool) {
	for _, d := range a.ready(now, all) {
		if d.traces != nil {
			d.traces(d.spans)
		}
		if d.slow != nil && d.told.LogRecordCount() > 0 {
			d.slow(d.told)
		}
	}
}

// done is what is to be handed on.
type done struct {
	spans  ptrace.Traces
	traces func(ptrace.Traces)
	told   plog.Logs
	slow   func(plog.Logs)
}

func (a *Attributor) ready(now time.Time, all bool) []done {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []done
	for _, h := range a.held.take(nil, func(h *held) bool { return all || a.settled(h) || !now.Before(h.due) }) {
		d := done{spans: h.spans, traces: h.sink.Traces, slow: h.sink.Slow, told: plog.NewLogs()}
		a.attribute(&h, &d)
		out = append(out, d)
	}
	return out
}

// settled reports whether nothing more is to come about the spans of h.
func (a *Attributor) settled(h *held) bool {
	on, p := a.known.find(h.id)
	if on == nil || p == nil {
		return false // a status may be on its way
	}
	end, slack, ok := on.wall.instant(h.end)
	return ok && on.passed(p, end.Add(slack))
}
