package telemetry

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// maxStatusSpans bounds the unseen spans that one status names. If there are
// more, the last one reaches from its start to the end of all: more is unseen
// than was, never less.
const maxStatusSpans = 64

var statusEvent = Event{
	semconv.EventSourceStatus,
	[]string{
		semconv.AttrWatermark, semconv.AttrUnseenStart, semconv.AttrUnseenEnd,
		semconv.AttrDroppedCount, semconv.AttrDroppedDuration,
		semconv.AttrWallOffset, semconv.AttrWallError, semconv.AttrProbedCPUs, semconv.AttrTargetPID, semconv.AttrCgroupIDs,
	},
	"How far a source has seen, once a second per source, never rate limited: without it silence cannot be told from a dead source.",
}

// Status is what a source says of itself.
type Status struct {
	Source stall.Origin
	// Since and At bound the time that the status is about: from the previous
	// one to now.
	Since, At stall.Instant
	// Watermark says that everything before it has been given to the
	// Telemetry, but for what Unseen names. Zero if there is none yet.
	Watermark stall.Instant
	// Unseen names the spans since the previous status that the source did
	// not see, sorted by start.
	Unseen []stall.Span
	// Dropped is what the source itself lost since it began. What the
	// Telemetry kept back of the source's events is added to it.
	Dropped Loss
	// Wall relates wall time to the shared clock; measured anew if zero.
	Wall       stall.WallOffset
	ProbedCPUs []int
	TargetPID  int // the process that the source watches, zero if its own
	// Cgroups are those of the process that the source watches, as in stall.Place.
	Cgroups []uint64
}

// watermarks are those that statuses told, by source.
type watermarks [stall.NumOrigins]stall.Instant

// next returns what is told after at. What was said stands: where the start of an
// event seems to lie before it, that is by its slack.
func (w *watermarks) next(s stall.Origin, at stall.Instant) stall.Instant {
	if s >= stall.NumOrigins {
		return at
	}
	w[s] = max(w[s], at)
	return w[s]
}

// Status sends the event of s at once. An event that is held holds the
// watermark back too: nobody may resolve a window that it will still charge.
func (t *Telemetry) Status(s Status) {
	q := question{semconv.EventSourceStatus, log.SeverityInfo}
	if !t.post.wants(q) {
		return
	}
	if s.Wall == (stall.WallOffset{}) {
		s.Wall = t.wall()
	}
	earliest, loss := t.events.state(s.Source)
	if earliest != 0 {
		s.Watermark = min(s.Watermark, earliest)
	}
	s.Watermark = t.told.next(s.Source, s.Watermark)
	if blanks := t.events.blanksOf(s.Source, s.Since, s.Watermark); len(blanks) > 0 {
		s.Unseen = stall.Union(slices.Concat(s.Unseen, blanks))
	}
	s.Dropped.Count += loss.Count
	s.Dropped.Duration += loss.Duration

	v := stall.Interval{Start: s.Since, End: s.At, Slack: t.o.Clock.Error(), Origin: s.Source}
	source, since := s.Source, s.Since
	t.emit(letter{
		question: q, record: t.record(s.Wall, v, s.attributes()),
		lost: func() { t.events.unnamed(source, since) },
	})
}

func (s *Status) attributes() []attribute.KeyValue {
	a := make(attributes, 0, 11)
	if s.Watermark != 0 {
		a.int(semconv.AttrWatermark, int64(s.Watermark))
	}
	if spans := boundSpans(s.Unseen); len(spans) > 0 {
		starts, ends := make([]int64, len(spans)), make([]int64, len(spans))
		for i, span := range spans {
			starts[i], ends[i] = int64(span.Start), int64(span.End)
		}
		a = append(a, attribute.Int64Slice(semconv.AttrUnseenStart, starts), attribute.Int64Slice(semconv.AttrUnseenEnd, ends))
	}
	a.int(semconv.AttrDroppedCount, asInt64(s.Dropped.Count))
	a = append(a, attribute.Float64(semconv.AttrDroppedDuration, s.Dropped.Duration.Seconds()))
	a.int(semconv.AttrWallOffset, int64(s.Wall.Offset))
	a.int(semconv.AttrWallError, int64(s.Wall.Error))
	if len(s.ProbedCPUs) > 0 {
		a = append(a, attribute.IntSlice(semconv.AttrProbedCPUs, s.ProbedCPUs))
	}
	if s.TargetPID != 0 {
		a.int(semconv.AttrTargetPID, int64(s.TargetPID))
	}
	if len(s.Cgroups) > 0 {
		ids := make([]int64, len(s.Cgroups))
		for i, id := range s.Cgroups {
			ids[i] = asInt64(id)
		}
		a = append(a, attribute.Int64Slice(semconv.AttrCgroupIDs, ids))
	}
	return a
}

func boundSpans(spans []stall.Span) []stall.Span {
	if len(spans) <= maxStatusSpans {
		return spans
	}
	bounded := append([]stall.Span(nil), spans[:maxStatusSpans]...)
	last := &bounded[maxStatusSpans-1]
	for _, s := range spans[maxStatusSpans:] {
		last.End = max(last.End, s.End)
	}
	return bounded
}

// Loss returns what was kept back of the events of source since New: by the
// limit of events, or by MinSeverity.
func (t *Telemetry) Loss(source stall.Origin) Loss {
	_, loss := t.events.state(source)
	return loss
}
