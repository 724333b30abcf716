package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// maxList bounds the pauses of one collection and the unseen spans of one
	// status; the project's own senders stay below.
	maxList = 128
	// maxAttributes bounds those of one event, which is looked through for each
	// of what it may say; the project's own senders stay below 64.
	maxAttributes = 1024
	// maxCgroups bounds how deep a process may lie in cgroups.
	maxCgroups = 64
	// longest is what one stall may last: what claims more is no stall but a
	// mistake.
	longest = stall.Instant(time.Hour)
	// maxSlack bounds the error that an event may admit to.
	maxSlack = time.Minute
	// latest bounds instants: no machine has been up for 36 years.
	latest = stall.Instant(farthest / 4)
)

// event is one log record of ours, checked.
type event struct {
	name   string
	of     identity
	source stall.Origin
	stalls []stall.Interval
	most   []stall.Instant // up to where each stop may have lasted, by the index of stalls; nil: to its end
	index  int64           // of a collection, 0 if not known
	kind   gc.Kind         // of a collection
	target int32           // pid of the process that it is about, as the sidecar sees it
	born   uint64          // when that was made, clock ticks since boot
	status status
}

// status is what a source says of itself.
type status struct {
	since, at stall.Instant // the time it is about: from the status before to now
	watermark stall.Instant
	unseen    []stall.Span
	offset    time.Duration
	wallError time.Duration
	cgroups   []uint64 // of the process, nil if it does not say
}

// parse reads a record of a resource. It reports false for a record that is not
// one of ours, and err for one of ours that makes no sense.
func parse(r plog.LogRecord, of *origin) (e event, ours bool, err error) {
	e.name = r.EventName()
	switch e.name {
	case semconv.EventCollection, semconv.EventSuspension, semconv.EventGap, semconv.EventSourceStatus:
	default:
		return event{}, false, nil
	}
	a := r.Attributes()
	if a.Len() > maxAttributes {
		return event{}, true, errTime
	}
	e.of = of.identity()
	boot := e.of.boot
	e.of.readAll(a)
	if boot != "" {
		e.of.boot = boot // an agent may have stamped it, and no record says better
	}
	e.source = parseSource(text(a, semconv.AttrSource))
	if e.of.boot == "" || e.source == stall.NoOrigin {
		return event{}, true, errNoIdentity
	}
	e.readTarget(a)
	if e.source == stall.TargetWatch && e.target == 0 || e.source != stall.TargetWatch && !isProbe(e.source) && e.of.number == 0 {
		return event{}, true, errNoIdentity
	}
	switch e.name {
	case semconv.EventSourceStatus:
		err = e.readStatus(a)
	case semconv.EventCollection:
		err = e.readPauses(a)
	case semconv.EventSuspension:
		err = e.readOne(a, stall.RuntimeSuspension, stall.ScopeProcess)
	case semconv.EventGap:
		err = e.readGap(a)
	}
	if err != nil {
		return event{}, true, err
	}
	return e, true, nil
}

// speaks reports whether e is about more than who sent it: the machine, or what that
// did to another process.
func (e *event) speaks() bool { return isProbe(e.source) || e.source == stall.TargetWatch }

// readOne reads the event's own extent as one stall.
func (e *event) readOne(a pcommon.Map, c stall.Cause, scope stall.Scope) error {
	slack, _ := number(a, semconv.AttrSlack)
	v := stall.Interval{
		Start: instant(a, semconv.AttrStart), End: instant(a, semconv.AttrEnd), Slack: time.Duration(slack),
		Cause: c, Origin: e.source, Scope: scope, CPU: -1,
	}
	if !sane(v) {
		return errTime
	}
	e.stalls = append(e.stalls, v)
	return nil
}

func (e *event) readGap(a pcommon.Map) error {
	c, err := stall.ParseCause(text(a, semconv.AttrCause))
	if err != nil {
		return errCause
	}
	scope, known := parseScope(text(a, semconv.AttrScope))
	if !known {
		return errCause
	}
	if err := e.readOne(a, c, scope); err != nil {
		return err
	}
	v := &e.stalls[0]
	if cpu, ok := number(a, semconv.AttrCPU); ok && cpu >= 0 && cpu < 1<<16 {
		v.CPU = int32(cpu)
	}
	if id, ok := number(a, semconv.AttrCgroupID); ok && id > 0 {
		v.Owner.Cgroup = uint64(id)
	}
	if scope == stall.ScopeTarget {
		v.Owner.PID = e.target
	}
	return nil
}

// readTarget reads the process that a gap of scope target, or a status, is about.
func (e *event) readTarget(a pcommon.Map) {
	if v, ok := a.Get(semconv.AttrTargetPID); ok {
		e.target = processNumber(v)
	}
	if ticks, ok := number(a, semconv.AttrTargetCreated); ok && ticks > 0 {
		e.born = uint64(ticks)
	}
}

func (e *event) readPauses(a pcommon.Map) error {
	e.index, _ = number(a, semconv.AttrGCIndex)
	e.kind = parseKind(text(a, semconv.AttrGCKind))
	starts, ends, slacks := integers(a, semconv.AttrPauseStart), integers(a, semconv.AttrPauseEnd), integers(a, semconv.AttrPauseSlack)
	mosts := pcommon.NewSlice()
	if e.source == stall.Dotnet {
		// From the event that begins the restart to the one that ends it threads may
		// run or not. A Go pause ends when another thread runs, which is known: its
		// bound is when the runtime reported the end.
		mosts = integers(a, semconv.AttrPauseEndMax)
	}
	if starts.Len() != ends.Len() || starts.Len() > maxList {
		return errTime
	}
	for i := range starts.Len() {
		v := stall.Interval{
			Start: stall.Instant(starts.At(i).Int()), End: stall.Instant(ends.At(i).Int()),
			Cause: stall.GCPause, Origin: e.source, CPU: -1,
		}
		if i < slacks.Len() {
			v.Slack = time.Duration(slacks.At(i).Int())
		}
		if !sane(v) {
			return errTime
		}
		e.stalls = append(e.stalls, v)
		if i < mosts.Len() {
			most := max(v.End, stall.Instant(mosts.At(i).Int()))
			if most > latest || most-v.Start > longest {
				return errTime
			}
			e.most = append(e.most, most)
		}
	}
	return nil
}

func (e *event) readStatus(a pcommon.Map) error {
	s := &e.status
	s.since, s.at, s.watermark = instant(a, semconv.AttrStart), instant(a, semconv.AttrEnd), instant(a, semconv.AttrWatermark)
	offset, ok := number(a, semconv.AttrWallOffset)
	wallError, _ := number(a, semconv.AttrWallError)
	if s.at <= 0 || s.at > latest || s.since < 0 || s.since > s.at || s.watermark < 0 ||
		s.watermark > s.at || !ok || offset < -farthest/2 || offset > farthest/2 || wallError < 0 || wallError > int64(maxSlack) {
		return errTime
	}
	s.offset, s.wallError = time.Duration(offset), time.Duration(wallError)
	s.cgroups = readCgroups(a)
	starts, ends := integers(a, semconv.AttrUnseenStart), integers(a, semconv.AttrUnseenEnd)
	if starts.Len() != ends.Len() || starts.Len() > maxList {
		return errTime
	}
	for i := range starts.Len() {
		span := stall.Span{Start: stall.Instant(starts.At(i).Int()), End: stall.Instant(ends.At(i).Int())}
		if span.Start < 0 || span.End < span.Start || span.End > latest {
			return errTime
		}
		s.unseen = append(s.unseen, span)
	}
	return nil
}
