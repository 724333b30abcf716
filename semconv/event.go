package semconv

import (
	"log/slog"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// MaxUnseen bounds the unseen spans that one status names.
const MaxUnseen = 64

// Event is what there is to know of an event before it happens.
type Event struct {
	Name       string
	Attributes []string // besides those of every event, see [EventFields]
	Meaning    string
}

// Events lists the events.
func Events() []Event {
	return []Event{
		{EventCollection, keys(CollectionFields), "One garbage collection as one record. Its severity follows the sum of its pauses, not its length."},
		{EventSuspension, keys(SuspensionFields), "One stop-the-world that was not for garbage collection."},
		{EventGap, keys(GapFields), "One stretch in which a probe did not run: those over the threshold, and the longest of each second."},
		{EventSlowRequest, append(keys(SlowFields), OwnerKeys()...), "One slow request, with its time by owner and the sentence that explains it."},
		{EventTraced, append(keys(TracedFields), OwnerKeys()...), "One request that a slice of a Go program's execution trace shows from begin to end, as the sidecar asks for it, with its time by owner: the connector gives it to the span that it is of. The longest are sent, so far as the limit of events allows."},
		{EventSourceStatus, keys(StatusFields), "How far a source has seen, once a second per source, never rate limited: without it a dead source looks like a quiet one."},
	}
}

func keys[T any](fields []Field[T]) (names []string) {
	for _, f := range fields {
		names = append(names, f.Key)
	}
	return names
}

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
	{AttrStart, "start of the occurrence, CLOCK_MONOTONIC ns of this boot", func(o *Occurrence) slog.Value { return instant(o.Start) }},
	{AttrEnd, "end of the occurrence, CLOCK_MONOTONIC ns of this boot", func(o *Occurrence) slog.Value { return instant(o.End) }},
	{AttrDuration, "end - start, in seconds", func(o *Occurrence) slog.Value {
		if o.Start == 0 || o.End == 0 {
			return slog.Value{}
		}
		return slog.Float64Value(stall.Span{Start: o.Start, End: o.End}.Duration().Seconds())
	}},
	{AttrSlack, "bound of the error of start and end, in ns", func(o *Occurrence) slog.Value { return slog.Int64Value(int64(o.Slack)) }},
	{AttrSource, "who saw it: gcwatch, gotrace, gouprobe, dotnet, probe.spin, probe.runtime, probe.periodic, target", func(o *Occurrence) slog.Value { return slog.StringValue(o.Origin.String()) }},
	{AttrBootID, "the kernel's id of this boot: the epoch of every start and end", func(o *Occurrence) slog.Value { return text(o.BootID) }},
	{AttrProcessPID, "the process that the event is about", func(o *Occurrence) slog.Value { return positive(o.PID) }},
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
	{AttrReason, "the runtime's own reason for stopping the world", func(s *Suspension) slog.Value { return text(s.Reason) }},
	{AttrCodeFunction, "who asked for the stop, the runtime's own function first, such as runtime.ReadMemStats < main.agent (exact)", func(s *Suspension) slog.Value { return text(s.Caller) }},
	{AttrFidelity, "how well the runtime was watched: cycle or exact; absent where it was not", func(s *Suspension) slog.Value { return slog.StringValue(s.Fidelity.String()) }},
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
	{AttrCause, "what stalled the program, one of the closed list of causes; host.suspended: the machine slept or, in scope process, the process was stopped", func(g *Gap) slog.Value { return slog.StringValue(g.Cause.String()) }},
	{AttrScope, "for whom a gap holds: cpu, target, cgroup, machine; process is the probe's own, which was stopped (host.suspended) or held up by its runtime (runtime.unknown)", func(g *Gap) slog.Value { return slog.StringValue(g.Scope.String()) }},
	{AttrMode, "how the probe watches: spin, runtime or periodic", func(g *Gap) slog.Value { return slog.StringValue(Mode(g.Origin)) }},
	{AttrCPU, "logical number of the CPU", func(g *Gap) slog.Value {
		if cpu := g.ProbedCPU(); cpu >= 0 {
			return slog.Int64Value(int64(cpu))
		}
		return slog.Value{}
	}},
	{AttrEvidence, "what decided the cause", func(g *Gap) slog.Value { return text(g.Evidence) }},
	{AttrCgroupID, "inode of the cgroup that a gap of scope cgroup belongs to", func(g *Gap) slog.Value { return positive(Int64(g.Owner.Cgroup)) }},
	{AttrTargetPID, "process that a gap of scope target belongs to, or that a source watches", func(g *Gap) slog.Value { return positive(g.Owner.PID) }},
	{AttrTargetCreated, "when that process was made, clock ticks since boot", func(g *Gap) slog.Value {
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
	{AttrWatermark, "everything before it has been seen and sent, CLOCK_MONOTONIC ns", func(s *Status) slog.Value { return instant(s.Watermark) }},
	{AttrUnseenStart, "starts of the spans that the source did not see", func(s *Status) slog.Value {
		return column(s.unseen(), func(v *stall.Span) (int64, bool) { return int64(v.Start), true })
	}},
	{AttrUnseenEnd, "ends of the spans that the source did not see", func(s *Status) slog.Value {
		return column(s.unseen(), func(v *stall.Span) (int64, bool) { return int64(v.End), true })
	}},
	{AttrDroppedCount, "what was seen and not kept, since the source began", func(s *Status) slog.Value { return slog.Int64Value(Int64(s.Dropped)) }},
	{AttrDroppedDuration, "total duration of what was dropped, in seconds", func(s *Status) slog.Value { return slog.Float64Value(s.DroppedTime.Seconds()) }},
	{AttrWallOffset, "wall clock (Unix ns) minus CLOCK_MONOTONIC", func(s *Status) slog.Value { return slog.Int64Value(int64(s.Wall.Offset)) }},
	{AttrWallError, "bound of the error of the offset, in ns", func(s *Status) slog.Value { return slog.Int64Value(int64(s.Wall.Error)) }},
	{AttrProbedCPUs, "logical numbers of the CPUs that the probe watches", func(s *Status) slog.Value {
		return column(s.ProbedCPUs, func(n *int) (int64, bool) { return int64(*n), true })
	}},
	{AttrTargetPID, "process that a gap of scope target belongs to, or that a source watches", func(s *Status) slog.Value { return positive(s.TargetPID) }},
	{AttrCgroupIDs, "inodes of the process's cgroup and its ancestors, own first: for whom a gap of scope cgroup holds", func(s *Status) slog.Value {
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
