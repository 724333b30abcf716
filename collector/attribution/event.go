package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/stall"
)

const (
	// maxList bounds the pauses of one collection and the unseen spans of one
	// status; the project's own senders stay below.
	maxList = 128
	// longest is what one stall may last: what claims more is no stall but a
	// mistake.
	longest = stall.Instant(time.Hour)
	// maxSlack bounds the error that an event may admit to.
	maxSlack = time.Minute
)

// event is one log record of ours, checked.
type event struct {
	name   string
	of     identity
	source stall.Source
	stalls []stall.Interval
	index  int64 // of a collection, 0 if not known
	status status
}

// status is what a source says of itself.
type status struct {
	at        stall.Instant
	watermark stall.Instant
	unseen    []stall.Span
	offset    time.Duration
	wallError time.Duration
	target    pid
}

func parseSource(name string) stall.Source {
	for s := stall.NoSource + 1; s < stall.NumSources; s++ {
		if s.String() == name {
			return s
		}
	}
	return stall.NoSource
}

func parseScope(name string) (stall.Scope, bool) {
	for s := stall.ScopeProcess; s < stall.NumScopes; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// parse reads a record. It reports false for a record that is not one of ours,
// and err for one of ours that makes no sense.
func parse(r plog.LogRecord, resource pcommon.Map) (e event, ours bool, err error) {
	e.name = r.EventName()
	switch e.name {
	case stall.EventCollection, stall.EventSuspension, stall.EventGap, stall.EventSourceStatus:
	default:
		return event{}, false, nil
	}
	a := r.Attributes()
	of := []pcommon.Map{a, resource}
	e.of = identify(of...)
	e.source = parseSource(text(stall.AttrSource, of[:1]))
	if e.of.boot == "" || e.source == stall.NoSource {
		return event{}, true, errNoIdentity
	}
	switch e.name {
	case stall.EventSourceStatus:
		err = e.readStatus(a)
	case stall.EventCollection:
		err = e.readPauses(a)
	case stall.EventSuspension:
		err = e.readOne(a, stall.RuntimeSuspension, stall.ScopeProcess)
	case stall.EventGap:
		err = e.readGap(a)
	}
	if err != nil {
		return event{}, true, err
	}
	return e, true, nil
}

// readOne reads the event's own extent as one stall.
func (e *event) readOne(a pcommon.Map, c stall.Cause, scope stall.Scope) error {
	slack, _ := number(stall.AttrSlack, []pcommon.Map{a})
	v := stall.Interval{
		Start: instant(a, stall.AttrStart), End: instant(a, stall.AttrEnd), Slack: time.Duration(slack),
		Cause: c, Source: e.source, Scope: scope, CPU: -1,
	}
	if !sane(v) {
		return errTime
	}
	e.stalls = append(e.stalls, v)
	return nil
}

func (e *event) readGap(a pcommon.Map) error {
	of := []pcommon.Map{a}
	c, err := stall.ParseCause(text(stall.AttrCause, of))
	if err != nil {
		return errCause
	}
	scope, known := parseScope(text(stall.AttrScope, of))
	if !known {
		return errCause
	}
	if err := e.readOne(a, c, scope); err != nil {
		return err
	}
	v := &e.stalls[0]
	if cpu, ok := number(stall.AttrCPU, of); ok && cpu >= 0 && cpu < 1<<16 {
		v.CPU = int32(cpu)
	}
	if id, ok := number(stall.AttrCgroupID, of); ok && id > 0 {
		v.Owner.Cgroup = uint64(id)
	}
	e.readTarget(of)
	return nil
}

// readTarget reads the process that a gap of scope target, or a status, is about.
func (e *event) readTarget(of []pcommon.Map) {
	if n, ok := number(stall.AttrTargetPID, of); ok {
		e.status.target.number = n
	}
}

func (e *event) readPauses(a pcommon.Map) error {
	e.index, _ = number(stall.AttrGCIndex, []pcommon.Map{a})
	starts, ends, slacks := list(a, stall.AttrPauseStart), list(a, stall.AttrPauseEnd), list(a, stall.AttrPauseSlack)
	if starts.Len() != ends.Len() || starts.Len() > maxList {
		return errTime
	}
	for i := range starts.Len() {
		v := stall.Interval{
			Start: stall.Instant(starts.At(i).Int()), End: stall.Instant(ends.At(i).Int()),
			Cause: stall.GCPause, Source: e.source, CPU: -1,
		}
		if i < slacks.Len() {
			v.Slack = time.Duration(slacks.At(i).Int())
		}
		if !sane(v) {
			return errTime
		}
		e.stalls = append(e.stalls, v)
	}
	return nil
}

func (e *event) readStatus(a pcommon.Map) error {
	of := []pcommon.Map{a}
	s := &e.status
	s.at, s.watermark = instant(a, stall.AttrEnd), instant(a, stall.AttrWatermark)
	offset, ok := number(stall.AttrWallOffset, of)
	wallError, _ := number(stall.AttrWallError, of)
	if s.at <= 0 || s.watermark < 0 || s.watermark > s.at || !ok || wallError < 0 || wallError > int64(maxSlack) {
		return errTime
	}
	s.offset, s.wallError = time.Duration(offset), time.Duration(wallError)
	starts, ends := list(a, stall.AttrUnseenStart), list(a, stall.AttrUnseenEnd)
	if starts.Len() != ends.Len() || starts.Len() > maxList {
		return errTime
	}
	for i := range starts.Len() {
		span := stall.Span{Start: stall.Instant(starts.At(i).Int()), End: stall.Instant(ends.At(i).Int())}
		if span.Start < 0 || span.End < span.Start {
			return errTime
		}
		s.unseen = append(s.unseen, span)
	}
	e.readTarget(of)
	return nil
}

func sane(v stall.Interval) bool {
	return v.Start > 0 && v.End >= v.Start && v.End-v.Start <= longest && v.Slack >= 0 && v.Slack <= maxSlack
}

func instant(a pcommon.Map, key string) stall.Instant {
	n, _ := number(key, []pcommon.Map{a})
	return stall.Instant(n)
}

// list returns an attribute that is a list, an empty one if there is none. An
// element that is no integer reads as zero, which no instant is.
func list(a pcommon.Map, key string) pcommon.Slice {
	if v, ok := a.Get(key); ok && v.Type() == pcommon.ValueTypeSlice {
		return v.Slice()
	}
	return pcommon.NewSlice()
}
