package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Severity returns DEBUG below 1 ms, INFO below 10 ms, WARN from there.
func Severity(d time.Duration) log.Severity {
	switch {
	case d < time.Millisecond:
		return log.SeverityDebug
	case d < 10*time.Millisecond:
		return log.SeverityInfo
	default:
		return log.SeverityWarn
	}
}

// wants reports whether the logger takes e. If it does not, the caller calls the
// stops of e [Telemetry.Untold]: a reader of the events must not take the silence
// for a program that ran.
func (t *Telemetry) wants(e *event) bool { return t.logs.wants(kind{e.name, Severity(e.stalled)}) }

// Untold says that there were stops of the process in v that the Telemetry does not
// know of: the next statuses of the source call that time unseen.
func (t *Telemetry) Untold(s stall.Origin, v stall.Span) {
	t.events.mu.Lock()
	defer t.events.mu.Unlock()
	t.events.unsent.add(s, v)
}

// collectionEvent holds the event of c. It ranks by the sum of the pauses: a long
// collection that stopped no thread is no stall.
func (t *Telemetry) collectionEvent(c *gc.Collection) {
	e := event{name: semconv.EventCollection, rank: rankRuntime, stalled: c.PauseTotal(), v: extent(c)}
	if !t.wants(&e) {
		for i := range c.Pauses {
			t.Untold(c.Origin, reach(&c.Pauses[i]))
		}
		return
	}
	for i := range c.Pauses {
		e.stops = append(e.stops, reach(&c.Pauses[i]))
	}
	if over := len(c.Pauses) - semconv.MaxPauses; over > 0 {
		t.Dropped(itemPause, whyLimit, uint64(over))
	}
	e.attrs = semconv.AppendCollection(make([]slog.Attr, 0, 32), c)
	t.events.put(e)
}

// reach returns where p may lie.
func reach(p *gc.Pause) stall.Span {
	return stall.Span{Start: p.Start.Add(-p.Slack), End: max(p.End, p.EndMax).Add(p.Slack)}
}

// extent returns the extent of c and all its pauses, zero where it is not known. In
// .NET the threads are being stopped before the collection begins and run again
// after it ends: an event that waits must hold the watermark back from there on.
func extent(c *gc.Collection) stall.Interval {
	v := stall.Interval{Start: c.Start.Or(0), End: c.End.Or(0), Origin: c.Origin}
	for i, p := range c.Pauses {
		if i == 0 && (v.Start == 0 || p.Start < v.Start) {
			v.Start = p.Start
		}
		if i == len(c.Pauses)-1 {
			v.End = max(v.End, p.End)
		}
		v.Slack = max(v.Slack, p.Slack)
	}
	return v
}

// Suspension records a stop-the-world that was not for garbage collection.
// Caller is the function that asked for it, empty if it is not known.
func (t *Telemetry) Suspension(v stall.Interval, reason, caller string, f stall.Fidelity) {
	reason = cmp.Or(reason, "unknown")
	t.stalls.suspension.record(context.Background(), v.Duration().Seconds(), reason)
	e := event{name: semconv.EventSuspension, rank: rankRuntime, stalled: v.Duration(), v: v}
	stop := stall.Span{Start: v.Start.Add(-v.Slack), End: v.End.Add(v.Slack)}
	if !t.wants(&e) {
		t.Untold(v.Origin, stop)
		return
	}
	e.stops = []stall.Span{stop}
	e.attrs = semconv.AppendSuspension(nil, &semconv.Suspension{Reason: reason, Caller: caller, Fidelity: f})
	t.events.put(e)
}

// Gap records a stretch in which a probe did not run. Evidence is asked what
// decided the cause, empty if nothing did; most gaps are short, and it is not.
func (t *Telemetry) Gap(v stall.Interval, evidence func() string) {
	d := v.Duration()
	k := gapSeries{v.Cause, v.Scope, v.Origin, -1}
	if t.o.GapCPU {
		k.cpu = (&semconv.Gap{Interval: v}).ProbedCPU()
	}
	t.stalls.gap.record(context.Background(), d.Seconds(), k)
	over := d >= GapEventThreshold
	// The commonest gap is short and not the longest: the cheap test first.
	if !over && !t.events.longer(v.Origin, d) {
		return
	}
	e := event{name: semconv.EventGap, rank: rankGap, stalled: d, v: v}
	if Severity(d) >= log.SeverityWarn {
		e.rank = rankWarn
	}
	if !t.wants(&e) {
		return
	}
	e.evidence = evidence()
	t.events.putGap(e, over)
}

// Slow sends the event of one slow request, whose window is w.
func (t *Telemetry) Slow(s *semconv.Slow, span trace.SpanContext, w *stall.Window, source stall.Origin) {
	x := w.Extent()
	e := event{name: semconv.EventSlowRequest, rank: rankWarn, stalled: s.Share.Total, span: span,
		v: stall.Interval{Start: x.Start, End: x.End, Origin: source}}
	if !t.wants(&e) {
		return
	}
	e.attrs = semconv.AppendSlow(nil, s)
	t.events.put(e)
}

// Traced sends the event of a request of an execution trace. The status of the source that
// answers says when it was sent: until then its watermark stays before the request.
func (t *Telemetry) Traced(q *semconv.Traced, answers stall.Origin) {
	e := event{name: semconv.EventTraced, rank: rankTraced, stalled: q.Share.Total, answers: answers,
		v: stall.Interval{Start: q.Start, End: q.End, Slack: q.Slack, Origin: stall.GoTrace}}
	if !t.wants(&e) {
		return
	}
	e.attrs = semconv.AppendTraced(make([]slog.Attr, 0, 16), q)
	t.events.put(e)
}

// Tick sends the events of the second that ended. The owner calls it about once
// a second, before Status; a call within the second does nothing.
func (t *Telemetry) Tick(now stall.Instant) {
	t.logs.ask()
	t.send(t.events.tick(now))
}

// Flush sends the events that are held before their second is over. The owner calls
// it before the last Status, which would not be sure of them.
func (t *Telemetry) Flush() { t.send(t.events.flush(false)) }

// send emits events, and counts those that were over the limit.
func (t *Telemetry) send(events []event, over uint64) {
	t.Dropped(itemEvent, whyRate, over)
	if len(events) == 0 {
		return
	}
	wall := t.wall()
	for i := range events {
		e := &events[i]
		if e.name == semconv.EventGap {
			e.attrs = semconv.AppendGap(make([]slog.Attr, 0, len(semconv.GapFields)), &semconv.Gap{Interval: e.v, Evidence: e.evidence})
		}
		kept := *e // the memory of events is used again
		kept.attrs = nil
		t.emit(record{
			kind: kind{e.name, Severity(e.stalled)}, span: e.span,
			Record: t.newRecord(wall, e.v, e.attrs), lost: func() { t.events.drop(&kept) },
		})
	}
	clear(events) // its memory is used again, what it points to is not
}

// emit sends one event. One for which there is no room is counted.
func (t *Telemetry) emit(r record) {
	r.SetEventName(r.event)
	r.SetSeverity(r.severity)
	if !t.logs.send(r) {
		r.lost()
		t.Dropped(itemEvent, whyQueue, 1)
	}
}

// newRecord makes the record of an event. What v does not know has no attribute.
func (t *Telemetry) newRecord(wall stall.WallOffset, v stall.Interval, more []slog.Attr) (r log.Record) {
	r.SetTimestamp(wall.Time(cmp.Or(v.Start, v.End, wall.At)))
	all := semconv.AppendEvent(make([]slog.Attr, 0, len(semconv.EventFields)+len(more)), &semconv.Occurrence{
		Start: v.Start, End: v.End, Slack: v.Slack, Origin: v.Origin, BootID: t.o.BootID, PID: t.o.PID,
	})
	r.AddAttributes(keyValues(append(all, more...))...)
	return r
}

// keyValues returns attributes as OpenTelemetry has them.
func keyValues(all []slog.Attr) []attribute.KeyValue {
	list := make([]attribute.KeyValue, len(all))
	for i, a := range all {
		list[i] = attribute.KeyValue{Key: attribute.Key(a.Key), Value: valueOf(a.Value)}
	}
	return list
}

func valueOf(v slog.Value) attribute.Value {
	switch v.Kind() {
	case slog.KindInt64:
		return attribute.Int64Value(v.Int64())
	case slog.KindFloat64:
		return attribute.Float64Value(v.Float64())
	case slog.KindBool:
		return attribute.BoolValue(v.Bool())
	case slog.KindString:
		return attribute.StringValue(v.String())
	}
	if texts, ok := v.Any().([]string); ok {
		return attribute.StringSliceValue(texts)
	}
	return attribute.Int64SliceValue(v.Any().([]int64))
}

// Status sends the event of s at once; its Wall is measured if it is zero. What the
// Telemetry kept back of the source's events is added to what s dropped. An event
// that is held holds the watermark back: a window that it will still charge must
// not be resolved.
func (t *Telemetry) Status(s semconv.Status) {
	k := kind{semconv.EventSourceStatus, log.SeverityInfo}
	if !t.logs.wants(k) {
		return
	}
	if s.Wall == (stall.WallOffset{}) {
		s.Wall = t.wall()
	}
	earliest, loss := t.events.state(s.Origin)
	if earliest != 0 {
		s.Watermark = min(s.Watermark, earliest)
	}
	// What was said stands, where the start of an event lies before it by its slack.
	last := &t.watermarks[known(s.Origin)]
	s.Watermark = max(s.Watermark, *last)
	*last = s.Watermark
	if unsent := t.events.unsentOf(s.Origin, s.Since, s.Watermark); len(unsent) > 0 {
		s.Unseen = stall.Union(slices.Concat(s.Unseen, unsent))
	}
	s.Dropped += loss.Count
	s.DroppedTime += loss.Time
	origin, since := s.Origin, s.Since
	v := stall.Interval{Start: s.Since, End: s.At, Slack: t.o.Clock.Error(), Origin: s.Origin}
	t.emit(record{
		kind: k, Record: t.newRecord(s.Wall, v, semconv.AppendStatus(nil, &s)),
		lost: func() { t.events.renew(origin, since) },
	})
}
