package attribution

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// writeShare puts an outcome into attributes. What a span says of its time without
// being believed does not stay beside it.
func writeShare(m pcommon.Map, o *outcome) {
	m.RemoveIf(func(k string, _ pcommon.Value) bool {
		return strings.HasPrefix(k, semconv.AttrStallPrefix) || k == semconv.AttrGCOverlap || k == semconv.AttrFidelity
	})
	size := 4 // and the boot id
	for owner := semconv.Owner(stall.GCPause); owner < semconv.NumOwners; owner++ {
		if owner == semconv.Unseen || *owner.Part(o.share) > 0 {
			size++
		}
	}
	m.EnsureCapacity(m.Len() + size)
	for owner := semconv.Owner(stall.GCPause); owner < semconv.NumOwners; owner++ {
		if d := *owner.Part(o.share); owner == semconv.Unseen || d > 0 {
			m.PutDouble(owner.Key(), d.Seconds())
		}
	}
	m.PutDouble(semconv.AttrCoverage, o.coverage)
	if o.watched() {
		m.PutStr(semconv.AttrGCOverlap, semconv.Overlap(o.share.Collections))
		m.PutStr(semconv.AttrFidelity, o.share.Fidelity.String())
	}
}

// writer writes down what becomes of the spans of one resource.
type writer struct {
	a      *Attributor
	j      *joiner
	h      *held
	events plog.Logs
	inside bool   // otelgc is in the process
	boot   string // of the host, where the resource does not say it
	pid    int32  // of the process: by the resource, else as it was found; 0 if neither
}

// counts reports whether the connector is to count a span that is a request.
func (w *writer) counts(o *outcome) bool {
	return w.h.sink.Count && !(w.a.config.Count == CountAttached && (w.inside || o.own != nil))
}

// count counts a span if it is a request.
func (w *writer) count(s ptrace.Span, o *outcome) {
	if o.odd {
		w.a.lost.odd.Add(1) // a request of unknown length is in no bucket
	} else if kind := s.Kind(); w.counts(o) && (kind == ptrace.SpanKindServer || kind == ptrace.SpanKindConsumer) {
		w.j.sums.add(o)
	}
}

// conclude writes down what becomes of one span.
func (w *writer) conclude(win *window, o *outcome) {
	w.count(win.span, o)
	if slow := w.a.config.SlowSpan; w.h.sink.Slow != nil && slow > 0 && o.share.Total >= slow {
		w.slowEvent(win, o)
	}
	if w.h.sink.Take == nil {
		return
	}
	m := win.span.Attributes()
	if o.own != nil {
		o.own.write(m)
		return
	}
	writeShare(m, o)
	if w.boot != "" {
		m.PutStr(semconv.AttrBootID, w.boot)
	}
}

// slowEvent appends the event of a slow span.
func (w *writer) slowEvent(win *window, o *outcome) {
	if w.events.ResourceLogs().Len() == 0 {
		rl := w.events.ResourceLogs().AppendEmpty()
		w.h.spans.Resource().CopyTo(rl.Resource())
		rl.ScopeLogs().AppendEmpty().Scope().SetName(scopeName)
	}
	r := w.events.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().AppendEmpty()
	r.SetEventName(semconv.EventSlowRequest)
	r.SetTimestamp(win.span.StartTimestamp())
	r.SetObservedTimestamp(win.span.EndTimestamp())
	r.SetSeverityNumber(severity(o.share.Total))
	r.SetTraceID(win.span.TraceID())
	r.SetSpanID(win.span.SpanID())
	sentence := o.share.Explain()
	r.Body().SetStr(short(win.span.Name()) + ": " + sentence)
	m := r.Attributes()
	m.PutStr(semconv.AttrSentence, sentence)
	if boot := cmp.Or(w.h.id.boot, w.boot); boot != "" {
		m.PutStr(semconv.AttrBootID, boot)
		if w.pid != 0 {
			m.PutInt(semconv.AttrProcessPID, int64(w.pid))
		}
		if win.Start > 0 {
			m.PutInt(semconv.AttrStart, int64(win.Start))
			m.PutInt(semconv.AttrEnd, int64(win.End))
			m.PutInt(semconv.AttrSlack, int64(win.off))
		}
	}
	if route := text(win.span.Attributes(), semconv.AttrRoute); route != "" {
		m.PutStr(semconv.AttrRoute, route)
	}
	m.PutDouble(semconv.AttrDuration, o.share.Total.Seconds())
	m.PutStr(semconv.AttrTraceID, win.span.TraceID().String())
	m.PutStr(semconv.AttrSpanID, win.span.SpanID().String())
	writeShare(m, o)
}

// short returns no more of a name than names are kept of.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
}

// severity is that of an event of so long a time, as in process.
func severity(d time.Duration) plog.SeverityNumber {
	switch {
	case d < time.Millisecond:
		return plog.SeverityNumberDebug
	case d < 10*time.Millisecond:
		return plog.SeverityNumberInfo
	}
	return plog.SeverityNumberWarn
}

// scopeName is the instrumentation scope of what is made here.
const scopeName = "github.com/otelgc/otelgc/collector/internal/attribution"

// carried is the share that a span brought from its own process. It is better
// than what can be said from here, and stays as it is: the machine's part alone
// comes to it, where the process could not say whether it was the machine's.
type carried struct {
	stall.Share
	coverage float64 // of the sources inside, which may be others; below 0 if it does not say
	untold   time.Duration
	odd      bool // it says figures that cannot be
}

// read takes in what a span carries. It reports false if that is nothing.
func (o *carried) read(m pcommon.Map) bool {
	fidelity := text(m, semconv.AttrFidelity)
	if fidelity == "" {
		return false
	}
	*o = carried{coverage: -1}
	if fidelity == stall.Exact.String() {
		o.Fidelity = stall.Exact
	}
	o.Collections = max(0, slices.Index(semconv.Overlaps[:], text(m, semconv.AttrGCOverlap)))
	for k, v := range m.All() {
		ok := true
		if part := o.part(k); part != nil {
			o.Total -= *part // a key that comes twice counts once
			*part, ok = seconds(v)
			o.Total += *part
		} else if k == semconv.AttrCoverage {
			if ok = isShare(v); ok {
				o.coverage = v.Double()
			}
		}
		o.odd = o.odd || !ok
	}
	return true
}

// isShare reports whether a figure is a part of one.
func isShare(v pcommon.Value) bool {
	return v.Type() == pcommon.ValueTypeDouble && v.Double() >= 0 && v.Double() <= 1
}

// part returns the share of the owner that an attribute is of, nil for any other.
func (o *carried) part(key string) *time.Duration {
	if owner, ok := semconv.OwnerOf(key); ok {
		return owner.Part(&o.Share)
	}
	return nil
}

// seconds returns a duration, and false for what cannot be one of a span.
func seconds(v pcommon.Value) (time.Duration, bool) {
	if v.Type() != pcommon.ValueTypeDouble || !(v.Double() >= 0 && v.Double() <= longestSpan.Seconds()) {
		return 0, false
	}
	return time.Duration(math.Round(v.Double() * float64(time.Second))), true
}

// gain adds the machine's part of the share that was joined from here. A cause
// that the process charged is known to it.
func (o *carried) gain(joined *stall.Share) {
	elsewhere := o.elsewhere(joined)
	for c := stall.HostThrottled; c <= stall.HostUnknown; c++ {
		if o.Charged[c] > 0 {
			continue
		}
		d := min(joined.Charged[c]-elsewhere, o.AppOrHost+o.Unseen)
		if d <= 0 {
			continue
		}
		o.Charged[c] = d
		first := min(d, o.AppOrHost)
		o.AppOrHost -= first
		o.Unseen -= d - first
	}
}

// elsewhere returns how much of a gap that was joined from here may lie in time that
// the process gave to another owner: whether that has precedence or the gap has, it
// is not the time that the gap can be charged to. When that was, the process does not
// report; so what may lie there is not charged, and remains app_or_host, which it may
// be. Stops and gaps that were reported here, too, are not in what was joined of a gap;
// those that were not reported are.
func (o *carried) elsewhere(joined *stall.Share) time.Duration {
	d := o.App
	if o.Fidelity == stall.Exact {
		d += o.Uncertain
	}
	for c := range o.Charged {
		d += max(0, o.Charged[c]-joined.Charged[c])
	}
	return d
}

// believable reports whether a process can have said that of a span of that length.
// It may have timed the span by a clock that was not being adjusted, and a
// component that handed the span on may have cut its times to milliseconds.
func (o *carried) believable(length time.Duration) bool {
	return o.Total <= length+length/8+time.Millisecond
}

// complete calls unseen what of a span of that length its process did not speak
// of, so that the parts sum to the length.
func (o *carried) complete(length time.Duration) {
	o.untold = max(0, length-o.Total)
	o.Unseen += o.untold
	o.Total += o.untold
}

// write puts what was gained into the attributes, and takes it from where it was. A
// figure that cannot be was not believed, and does not stay.
func (o *carried) write(m pcommon.Map) {
	if o.odd {
		m.RemoveIf(o.isOdd)
	}
	for c := stall.HostThrottled; c <= stall.HostUnknown; c++ {
		if d := o.Charged[c]; d > 0 {
			put(m, semconv.Owner(c).Key(), d)
		}
	}
	if key := semconv.AppOrHost.Key(); has(m, key) {
		put(m, key, o.AppOrHost)
	}
	if key := semconv.Unseen.Key(); has(m, key) {
		put(m, key, o.Unseen-o.untold)
	}
}

func has(m pcommon.Map, key string) bool {
	_, ok := m.Get(key)
	return ok
}

// isOdd reports whether an attribute is a figure that cannot be.
func (o *carried) isOdd(key string, v pcommon.Value) bool {
	if o.part(key) != nil {
		_, ok := seconds(v)
		return !ok
	}
	return key == semconv.AttrCoverage && !isShare(v)
}

// put sets an attribute, unless it says the same: what came stays as it came.
func put(m pcommon.Map, name string, d time.Duration) {
	if v, has := m.Get(name); has {
		if before, ok := seconds(v); ok && before == d {
			return
		}
	}
	m.PutDouble(name, d.Seconds())
}
