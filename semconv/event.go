package semconv

import (
	"log/slog"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// MaxUnseen bounds the unseen spans that one status names.
const MaxUnseen = 64

// Occurrence is what every event says of what it is about.
type Occurrence struct {
	Start, End stall.Instant // zero if not known
	Slack      time.Duration
	Origin     stall.Origin
	BootID     string
	PID        int
}

// EventFields are the attributes of every event, where they are known.
var EventFields = []Field[Occurrence]{
	{AttrStart, func(o *Occurrence) slog.Value { return instant(o.Start) }},
	{AttrEnd, func(o *Occurrence) slog.Value { return instant(o.End) }},
	{AttrDuration, func(o *Occurrence) slog.Value {
		if o.Start == 0 || o.End == 0 {
			return slog.Value{}
		}
		return slog.Float64Value(stall.Span{Start: o.Start, End: o.End}.Duration().Seconds())
	}},
	{AttrSlack, func(o *Occurrence) slog.Value { return slog.Int64Value(int64(o.Slack)) }},
	{AttrSource, func(o *Occurrence) slog.Value { return slog.StringValue(o.Origin.String()) }},
	{AttrBootID, func(o *Occurrence) slog.Value { return text(o.BootID) }},
	{AttrProcessPID, func(o *Occurrence) slog.Value { return positive(o.PID) }},
}

// AppendEvent appends the attributes that every event has.
func AppendEvent(dst []slog.Attr, o *Occurrence) []slog.Attr {
	return appendFields(dst, o, EventFields)
}

// Suspension is a stop of the world that was not for garbage collection.
type Suspension struct {
	Reason, Caller string // empty if not known
	Fidelity       stall.Fidelity
}

// SuspensionFields are the further attributes of [EventSuspension].
var SuspensionFields = []Field[Suspension]{
	{AttrReason, func(s *Suspension) slog.Value { return text(s.Reason) }},
	{AttrCodeFunction, func(s *Suspension) slog.Value { return text(s.Caller) }},
	{AttrFidelity, func(s *Suspension) slog.Value { return slog.StringValue(s.Fidelity.String()) }},
}

// AppendSuspension appends the further attributes of s.
func AppendSuspension(dst []slog.Attr, s *Suspension) []slog.Attr {
	return appendFields(dst, s, SuspensionFields)
}

// Gap is a stretch in which a probe did not run.
type Gap struct {
	stall.Interval
	Evidence string // what decided the cause, empty if nothing did
}

// GapFields are the further attributes of [EventGap].
var GapFields = []Field[Gap]{
	{AttrCause, func(g *Gap) slog.Value { return slog.StringValue(g.Cause.String()) }},
	{AttrScope, func(g *Gap) slog.Value { return slog.StringValue(g.Scope.String()) }},
	{AttrMode, func(g *Gap) slog.Value { return slog.StringValue(Mode(g.Origin)) }},
	{AttrCPU, func(g *Gap) slog.Value {
		if cpu := g.ProbedCPU(); cpu >= 0 {
			return slog.Int64Value(int64(cpu))
		}
		return slog.Value{}
	}},
	{AttrEvidence, func(g *Gap) slog.Value { return text(g.Evidence) }},
	{AttrCgroupID, func(g *Gap) slog.Value { return positive(Int64(g.Owner.Cgroup)) }},
	{AttrTargetPID, func(g *Gap) slog.Value { return positive(g.Owner.PID) }},
	{AttrTargetCreated, func(g *Gap) slog.Value {
		if g.Owner.PID == 0 {
			return slog.Value{}
		}
		return slog.Int64Value(Int64(g.Owner.Created))
	}},
}

// AppendGap appends the further attributes of g.
func AppendGap(dst []slog.Attr, g *Gap) []slog.Attr { return appendFields(dst, g, GapFields) }

// ProbedCPU returns the CPU of a gap, -1 if it is of none. CPU 0 of another scope
// than [stall.ScopeCPU] means that the CPU does not matter.
func (g *Gap) ProbedCPU() int32 {
	if g.CPU > 0 || g.Scope == stall.ScopeCPU && g.CPU == 0 {
		return g.CPU
	}
	return -1
}

// Mode returns the mode of the probe s, such as "spin" for probe.spin. An origin
// that is no probe is its own mode.
func Mode(s stall.Origin) string { return strings.TrimPrefix(s.String(), "probe.") }

// Status is what a source says of itself.
type Status struct {
	Origin stall.Origin
	// Since and At bound the time that the status is about: from the previous
	// one to now.
	Since, At stall.Instant
	// Watermark says that everything before it was sent, but for Unseen. Zero if
	// there is none yet.
	Watermark stall.Instant
	// Unseen holds the spans since the previous status that the source did not
	// see, sorted by start.
	Unseen []stall.Span
	// Dropped is how much the source lost since it began, and DroppedTime for how
	// long that lasted.
	Dropped     uint64
	DroppedTime time.Duration
	Wall        stall.WallOffset
	ProbedCPUs  []int
	TargetPID   int // the process that the source watches, zero if its own
	// Cgroups are those of the process that the source watches, as in [stall.Place].
	Cgroups []uint64
}

// StatusFields are the further attributes of [EventSourceStatus].
var StatusFields = []Field[Status]{
	{AttrWatermark, func(s *Status) slog.Value { return instant(s.Watermark) }},
	{AttrUnseenStart, func(s *Status) slog.Value {
		return column(s.unseen(), func(v *stall.Span) (int64, bool) { return int64(v.Start), true })
	}},
	{AttrUnseenEnd, func(s *Status) slog.Value {
		return column(s.unseen(), func(v *stall.Span) (int64, bool) { return int64(v.End), true })
	}},
	{AttrDroppedCount, func(s *Status) slog.Value { return slog.Int64Value(Int64(s.Dropped)) }},
	{AttrDroppedDuration, func(s *Status) slog.Value { return slog.Float64Value(s.DroppedTime.Seconds()) }},
	{AttrWallOffset, func(s *Status) slog.Value { return slog.Int64Value(int64(s.Wall.Offset)) }},
	{AttrWallError, func(s *Status) slog.Value { return slog.Int64Value(int64(s.Wall.Error)) }},
	{AttrProbedCPUs, func(s *Status) slog.Value {
		return column(s.ProbedCPUs, func(n *int) (int64, bool) { return int64(*n), true })
	}},
	{AttrTargetPID, func(s *Status) slog.Value { return positive(s.TargetPID) }},
	{AttrCgroupIDs, func(s *Status) slog.Value {
		return column(s.Cgroups, func(n *uint64) (int64, bool) { return Int64(*n), true })
	}},
}

// AppendStatus appends the further attributes of s.
func AppendStatus(dst []slog.Attr, s *Status) []slog.Attr { return appendFields(dst, s, StatusFields) }

// unseen returns at most [MaxUnseen] spans. If there are more, the last one
// reaches to the end of all: more is unseen than was, never less.
func (s *Status) unseen() []stall.Span {
	if len(s.Unseen) <= MaxUnseen {
		return s.Unseen
	}
	spans := append([]stall.Span(nil), s.Unseen[:MaxUnseen]...)
	last := &spans[MaxUnseen-1]
	for _, v := range s.Unseen[MaxUnseen:] {
		last.End = max(last.End, v.End)
	}
	return spans
}
