package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// maxAttributes bounds those of one event, which is looked through for each of what
// it may say; the project's own senders stay below 64.
const maxAttributes = 1024

// event is one log record of ours, checked. Of a status Since and At are those of
// the status before and of this one.
type event struct {
	name string
	of   identity
	semconv.Record
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
	e.Record, err = semconv.Decode(e.name, recordAttributes(a))
	switch {
	case e.of.boot == "" || e.Origin == stall.NoOrigin,
		e.Origin == stall.TargetWatch && e.TargetPID == 0,
		e.Origin != stall.TargetWatch && !isProbe(e.Origin) && e.of.number == 0:
		return event{}, true, errNoIdentity
	case err != nil:
		return event{}, true, err
	}
	return e, true, nil
}

// speaks reports whether e is about more than its sender: the machine, or what that
// did to another process.
func (e *event) speaks() bool { return isProbe(e.Origin) || e.Origin == stall.TargetWatch }

// recordAttributes are those of a record of the Collector.
type recordAttributes pcommon.Map

func (a recordAttributes) Text(key string) string { return text(pcommon.Map(a), key) }

func (a recordAttributes) Int(key string) (int64, bool) {
	if v, ok := pcommon.Map(a).Get(key); ok && v.Type() == pcommon.ValueTypeInt {
		return v.Int(), true
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

// origin is where all events of one resource come from. A resource may have as many
// attributes as there is room for in a request, and as many events: it is read once,
// and if there is one of ours.
type origin struct {
	resource pcommon.Map
	stamps   bool // count: see Config.Probes
	id       identity
	read     bool
}

func (o *origin) identity() identity {
	if !o.read {
		o.id, o.read = identify(o.resource), true
		o.id.stamped = o.stamps && text(o.resource, semconv.AttrStamp) == semconv.StampSidecar
	}
	return o.id
}
