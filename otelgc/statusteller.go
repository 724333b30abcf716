package otelgc

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	statusEvery  = time.Second
	coverageOver = 10 * time.Second // of the gauge
)

// statusTeller reports once a second how far each source has seen.
type statusTeller struct {
	m           *Monitor
	every       time.Duration // statusEvery but in tests
	since, next stall.Instant
	reported    [stall.NumOrigins]stall.Instant // watermarks
	spans       []stall.Span
	wall        atomic.Int64          // offset of wall time, ns
	said        stall.Instant         // when a disagreement was put in words last
	unsaid      timeline.Disagreement // since
}

func (t *statusTeller) tell(now stall.Instant) {
	if now < t.next {
		return
	}
	m := t.m
	wall := m.here.clock.Wall()
	m.status.wall.Store(int64(wall.Offset))
	m.reportLost()
	m.tel.Tick(now)
	t.source(now, wall, m.timeline.Cycle)
	t.source(now, wall, m.timeline.Exact)
	for _, a := range m.added {
		a.report(m, t.since, now, wall)
	}
	t.losses()
	t.since, t.next = now, now.Add(t.every)
}

// source sends the status of one of the runtime's sources. The spans that it names are
// those before its watermark: what is after it is not unseen yet.
func (t *statusTeller) source(now stall.Instant, wall stall.WallOffset, l *stall.Log) {
	// What was said stands: where a pause seems to lie before, it is by its slack.
	before := t.reported[l.Origin()]
	watermark := max(before, min(now, l.Watermark(), t.m.timeline.Settled()))
	t.reported[l.Origin()] = watermark
	// Spans reach back over the deadline, so that a status that was lost is made good
	// by the next; and to where the last one left off, however long that was ago.
	from := t.since.Add(-timeline.Deadline)
	if before != 0 {
		from = min(from, before)
	}
	// What a source has not passed by its deadline, it does not watch.
	recent := stall.Span{Start: now.Add(-coverageOver), End: max(watermark, now.Add(-timeline.Deadline))}
	t.m.tel.Coverage(l.Origin(), l.Coverage(recent))
	n, d := l.Dropped()
	t.m.tel.Status(semconv.Status{
		Origin: l.Origin(), Since: t.since, At: now, Watermark: watermark, Wall: wall,
		Unseen:  t.unseen(l, stall.Span{Start: from, End: watermark}),
		Dropped: n, DroppedTime: d,
		Cgroups: t.m.here.place.Cgroups,
	})
}

// unseen returns what l did not see of s.
func (t *statusTeller) unseen(l *stall.Log, s stall.Span) []stall.Span {
	t.spans = l.Seen(t.spans[:0], s)
	var holes []stall.Span
	at := s.Start
	for _, seen := range t.spans {
		if seen.Start > at {
			holes = append(holes, stall.Span{Start: at, End: seen.Start})
		}
		at = seen.End
	}
	if at < s.End {
		holes = append(holes, stall.Span{Start: at, End: s.End})
	}
	return holes
}

// losses counts what was lost since the last time.
func (t *statusTeller) losses() {
	m := t.m
	m.tel.Dropped("window", "queue_full", m.windows.Requests.Lost())
	m.tel.Dropped("window", "span_queue_full", m.windows.Asked.Lost())
	m.tel.Dropped("arrival", "several", m.requests.ignored[notOne].Swap(0))
	m.tel.Dropped("arrival", "parse", m.requests.ignored[notParsed].Swap(0))
	m.tel.Dropped("arrival", "out_of_range", m.requests.ignored[notPlausible].Swap(0))
	m.tel.Dropped("window", "slot_reclaimed", m.windows.Slots.Reclaim(m.here.clock.Now()))
	m.tel.Dropped("window", "not_followed", m.windows.unmarked.Swap(0))
	m.tel.Dropped("window", "past_forgotten", m.resolver.Forgotten())
	m.tel.Dropped("window", "clock", m.resolver.Foreign())
	m.tel.Dropped("child", "limit", m.exact.Store.TakeOverflow())
	t.disagreement(m.timeline.Disagreed())
}

// disagreeEvery bounds how often a disagreement is put in words: on a machine
// that is short of CPU there is always one.
const disagreeEvery = time.Minute

// disagreement counts collections on whose pauses the two fidelities disagree,
// and says so.
func (t *statusTeller) disagreement(d timeline.Disagreement) {
	t.m.tel.Dropped("cross_check", "disagreement", d.Count())
	t.unsaid.Add(d)
	now := t.m.here.clock.Now()
	if t.unsaid.Count() == 0 || t.said != 0 && now.Sub(t.said) < disagreeEvery {
		return
	}
	t.m.operator.report(errors.New(t.unsaid.String()))
	t.said, t.unsaid = now, timeline.Disagreement{}
}

// tellLost counts what a generation held over a limit.
func (m *Monitor) tellLost(l *gotrace.Lost) {
	m.tel.Dropped("generation", "missing", l.Generations)
	m.tel.Dropped("trace_record", "limit", l.Strings+l.Stacks+l.Transitions+l.Stops+l.Handoffs+l.Cycles+l.Ranges+l.Workers+l.Marks+l.Samples)
	m.tel.Dropped("goroutine", "limit", l.Followed)
	m.tel.Dropped("track", "thinned", l.Tracks)
}
