package wire

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// MaxAttributes bounds those of one event, which is looked through for each of what
// it may say; the project's own senders stay below 64.
const MaxAttributes = 1024

// errNoIdentity is why an event was not taken: a value of error.type.
var errNoIdentity = errors.New("no_identity") // no boot id, no pid, or no source that is known

// Event is one log record of ours, checked.
type Event struct {
	Name   string
	Sender Identity
	semconv.Record
}

// ParseEvent reads a record of a resource. It reports false for a record that is not
// one of ours, and err for one of ours that makes no sense.
func ParseEvent(r plog.LogRecord, of *Resource) (e Event, ours bool, err error) {
	e.Name = r.EventName()
	switch e.Name {
	case semconv.EventCollection, semconv.EventSuspension, semconv.EventGap, semconv.EventSourceStatus, semconv.EventTraced:
	default:
		return Event{}, false, nil
	}
	a := r.Attributes()
	if a.Len() > MaxAttributes {
		return Event{}, true, semconv.ErrTime
	}
	e.Sender = of.identity()
	boot := e.Sender.Boot
	e.Sender.readAll(a)
	if boot != "" {
		e.Sender.Boot = boot // an agent may have stamped it, and no record says better
	}
	e.Record, err = semconv.Decode(e.Name, recordAttributes(a))
	switch {
	case e.Sender.Boot == "" || e.Origin == stall.NoOrigin,
		e.Origin == stall.TargetWatch && e.TargetPID == 0,
		e.Origin != stall.TargetWatch && !IsProbe(e.Origin) && e.Sender.PID == 0,
		e.Name == semconv.EventTraced && e.Origin != stall.GoTrace:
		return Event{}, true, errNoIdentity
	case err != nil:
		return Event{}, true, err
	}
	return e, true, nil
}

// Speaks reports whether e is about more than its sender: the machine, or what that
// did to another process.
func (e *Event) Speaks() bool { return IsProbe(e.Origin) || e.Origin == stall.TargetWatch }

// IsProbe reports whether a source watches the machine.
func IsProbe(s stall.Origin) bool {
	return s == stall.ProbeSpin || s == stall.ProbeRuntime || s == stall.ProbePeriodic
}

// recordAttributes are those of a record of the Collector.
type recordAttributes pcommon.Map

func (a recordAttributes) Text(key string) string { return Text(pcommon.Map(a), key) }

func (a recordAttributes) Int(key string) (int64, bool) {
	if v, ok := pcommon.Map(a).Get(key); ok && v.Type() == pcommon.ValueTypeInt {
		return v.Int(), true
	}
	return 0, false
}

func (a recordAttributes) Float(key string) (float64, bool) {
	if v, ok := pcommon.Map(a).Get(key); ok && v.Type() == pcommon.ValueTypeDouble {
		return v.Double(), true
	}
	return 0, false
}

func (a recordAttributes) Ints(key string, most int) (list []int64, all bool) {
	v, ok := pcommon.Map(a).Get(key)
	if !ok || v.Type() != pcommon.ValueTypeSlice {
		return nil, true
	}
	n := min(v.Slice().Len(), most)
	list = make([]int64, n)
	for i := range list {
		list[i] = v.Slice().At(i).Int()
	}
	return list, n == v.Slice().Len()
}

// Resource is where all events of one resource come from. A request may be full of its
// attributes, or of its events. So it is read once, and only if an event is one of ours.
type Resource struct {
	Attributes pcommon.Map
	Stamps     bool // whether the stamp of an agent is believed
	id         Identity
	read       bool
}

func (o *Resource) identity() Identity {
	if !o.read {
		o.id, o.read = identify(o.Attributes), true
		o.id.Stamped = o.Stamps && Text(o.Attributes, semconv.AttrStamp) == semconv.StampSidecar
	}
	return o.id
}
