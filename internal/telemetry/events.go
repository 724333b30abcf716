package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const severityWarn = log.SeverityWarn

func (t *Telemetry) severity(d time.Duration) log.Severity { return t.o.SeverityFor(d) }

// enabled reports whether anybody takes an event of a stall of d.
func (t *Telemetry) enabled(name string, d time.Duration) bool {
	severity := t.severity(d)
	return severity >= t.o.MinSeverity && t.post.wants(question{name, severity})
}

// wanted is enabled, and counts as dropped what only MinSeverity keeps back: a
// reader of the events must not take the silence for a quiet machine.
func (t *Telemetry) wanted(ctx context.Context, name string, s stall.Origin, d time.Duration) bool {
	severity := t.severity(d)
	if !t.post.wants(question{name, severity}) {
		return false
	}
	if severity < t.o.MinSeverity {
		t.events.withhold(s, d)
		t.countDropped(ctx, itemEvent, whySeverity, 1)
		return false
	}
	return true
}

// Tick sends the events of the second that ended. The owner calls it about once
// a second, before Status; a call within the second does nothing.
func (t *Telemetry) Tick(now stall.Instant) {
	t.post.ask()
	t.send(t.events.tick(now))
}

// Flush sends the events that are held before their second is over. The owner calls
// it before the last Status, which would not be sure of them.
func (t *Telemetry) Flush() { t.send(t.events.flush()) }

// send emits events, and counts those that were over the limit.
func (t *Telemetry) send(events []held, over uint64) {
	ctx := context.Background()
	if over > 0 {
		t.countDropped(ctx, itemEvent, whyRate, over)
	}
	if len(events) == 0 {
		return
	}
	wall := t.wall()
	for i := range events {
		h := &events[i]
		if h.name == semconv.EventGap {
			h.attrs = gapAttributes(h.v, h.evidence)
		}
		kept := *h // the memory of events is used again
		kept.attrs = nil
		t.emit(letter{
			question: question{h.name, t.severity(h.rank)}, span: h.span,
			record: t.record(wall, h.v, h.attrs), lost: func() { t.events.refuse(&kept) },
		})
	}
	clear(events) // its memory is used again, what it points to is not
}

// emit sends one event. One for which there is no room is counted.
func (t *Telemetry) emit(l letter) {
	l.record.SetEventName(l.event)
	l.record.SetSeverity(l.severity)
	if !t.post.send(l) {
		l.lost()
		t.countDropped(context.Background(), itemEvent, whyQueue, 1)
	}
}

// record makes the record of an event. What v does not know has no attribute.
func (t *Telemetry) record(wall stall.WallOffset, v stall.Interval, more []attribute.KeyValue) (r log.Record) {
	r.SetTimestamp(wall.Time(firstKnown(v.Start, v.End, wall.At)))

	a := make(attributes, 0, 7+len(more))
	if v.Start != 0 {
		a.int(semconv.AttrStart, int64(v.Start))
	}
	if v.End != 0 {
		a.int(semconv.AttrEnd, int64(v.End))
	}
	if v.Start != 0 && v.End != 0 {
		a = append(a, attribute.Float64(semconv.AttrDuration, v.Duration().Seconds()))
	}
	a.int(semconv.AttrSlack, int64(v.Slack))
	a.text(semconv.AttrSource, v.Origin.String())
	a.text(semconv.AttrBootID, t.o.BootID)
	if t.o.PID != 0 {
		a.int(semconv.AttrProcessPID, int64(t.o.PID))
	}
	r.AddAttributes(append(a, more...)...)
	return r
}

func firstKnown(instants ...stall.Instant) stall.Instant {
	for _, i := range instants {
		if i != 0 {
			return i
		}
	}
	return 0
}

// attributes collects the attributes of one event. What is not known is left
// out.
type attributes []attribute.KeyValue

func (a *attributes) int(key string, v int64) { *a = append(*a, attribute.Int64(key, v)) }

func (a *attributes) float(key string, v float64) { *a = append(*a, attribute.Float64(key, v)) }

// text adds a text that is known. No exporter sends one that is not valid.
func (a *attributes) text(key, v string) {
	if v != "" {
		*a = append(*a, attribute.String(key, strings.ToValidUTF8(v, "\uFFFD")))
	}
}

func (a *attributes) size(key string, m gc.Maybe[gc.Bytes]) {
	if n, ok := m.Get(); ok {
		a.int(key, asInt64(n))
	}
}

func (a *attributes) seconds(key string, m gc.Maybe[time.Duration]) {
	if d, ok := m.Get(); ok {
		*a = append(*a, attribute.Float64(key, d.Seconds()))
	}
}
