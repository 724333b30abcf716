package attribution

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxAttributes bounds those of one event, which is looked through for each of what
// it may say; the project's own senders stay below 64.
const maxAttributes = 1024

// event is one log record of ours, checked.
type event struct {
	name   string
	of     identity
	source stall.Origin
	stalls []stall.Interval
	most   []stall.Instant // up to where each stop may have lasted, by the index of stalls; nil: to its end
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
	record, err := semconv.Decode(e.name, recordAttributes(a))
	e.source, e.target, e.born = record.Origin, record.TargetPID, record.TargetCreated
	if e.of.boot == "" || e.source == stall.NoOrigin {
		return event{}, true, errNoIdentity
	}
	if e.source == stall.TargetWatch && e.target == 0 || e.source != stall.TargetWatch && !isProbe(e.source) && e.of.number == 0 {
		return event{}, true, errNoIdentity
	}
	if err != nil {
		return event{}, true, err
	}
	e.stalls, e.most, e.kind = record.Intervals, record.EndMax, record.Kind
	s := &record.Status
	e.status = status{s.Since, s.At, s.Watermark, s.Unseen, s.Wall.Offset, s.Wall.Error, s.Cgroups}
	return e, true, nil
}

// speaks reports whether e is about more than who sent it: the machine, or what that
// did to another process.
func (e *event) speaks() bool { return isProbe(e.source) || e.source == stall.TargetWatch }

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
