package wire

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// SpanShare is the share that a span brought from its own process. It is better
// than what can be said from here, and stays as it is: the machine's part alone
// comes to it, where the process could not say whether it was the machine's.
type SpanShare struct {
	stall.Share
	Coverage float64 // of the sources inside, which may be others; below 0 if it does not say
	untold   time.Duration
	odd      bool // it says figures that cannot be
}

// Read takes in what a span carries. It reports false if that is nothing.
func (o *SpanShare) Read(m pcommon.Map) bool {
	fidelity := Text(m, semconv.AttrFidelity)
	if fidelity == "" {
		return false
	}
	*o = SpanShare{Coverage: -1}
	if fidelity == stall.Exact.String() {
		o.Fidelity = stall.Exact
	}
	o.Collections = max(0, slices.Index(semconv.Overlaps[:], Text(m, semconv.AttrGCOverlap)))
	for k, v := range m.All() {
		ok := true
		if part := o.part(k); part != nil {
			o.Total -= *part // a key that comes twice counts once
			*part, ok = seconds(v)
			o.Total += *part
		} else if k == semconv.AttrCoverage {
			if ok = isShare(v); ok {
				o.Coverage = v.Double()
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
func (o *SpanShare) part(key string) *time.Duration {
	if owner, ok := semconv.OwnerOf(key); ok {
		return owner.Part(&o.Share)
	}
	return nil
}

// seconds returns a duration, and false for what cannot be one of a span.
func seconds(v pcommon.Value) (time.Duration, bool) {
	if v.Type() != pcommon.ValueTypeDouble || !(v.Double() >= 0 && v.Double() <= LongestSpan.Seconds()) {
		return 0, false
	}
	return time.Duration(math.Round(v.Double() * float64(time.Second))), true
}

// Gain adds the machine's part of the share that was joined from here. A cause
// that the process charged is known to it.
func (o *SpanShare) Gain(joined *stall.Share) {
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
// is not the time that the gap can be charged to. The process does not report when that
// was. So a gap that may lie there is not charged, and its time stays app_or_host. What
// was joined of a gap leaves out stops and gaps that were reported here, too.
func (o *SpanShare) elsewhere(joined *stall.Share) time.Duration {
	d := o.App
	if o.Fidelity == stall.Exact {
		d += o.Uncertain
	}
	for c := range o.Charged {
		d += max(0, o.Charged[c]-joined.Charged[c])
	}
	return d
}

// Believable reports whether a process can have said that of a span of that length.
// It may have timed the span by a clock that was not being adjusted, and a
// component that handed the span on may have cut its times to milliseconds.
func (o *SpanShare) Believable(length time.Duration) bool {
	return o.Total <= length+length/8+time.Millisecond
}

// Of makes o the share of a span of that length, from that of the request that it is. The
// request may go on a little longer: the SDK's own time is taken off.
func (o *SpanShare) Of(s *stall.Share, length time.Duration) {
	*o = SpanShare{Share: *s, Coverage: -1}
	over := max(0, o.Total-length)
	for _, part := range [...]*time.Duration{&o.AppOrHost, &o.App, &o.Unseen, &o.Uncertain} {
		d := min(over, *part)
		*part -= d
		over -= d
	}
	for over > 0 { // it was stalled all the time
		most := stall.GCPause
		for c := range o.Charged {
			if o.Charged[c] > o.Charged[most] {
				most = stall.Cause(c)
			}
		}
		d := min(over, o.Charged[most])
		o.Charged[most] -= d
		over -= d
		if d == 0 {
			break // it said less than its time
		}
	}
	o.Total = min(o.Total, length)
	o.Covered = min(o.Covered, length)
}

// Complete calls unseen what of a span of that length its process did not speak
// of, so that the parts sum to the length.
func (o *SpanShare) Complete(length time.Duration) {
	o.untold = max(0, length-o.Total)
	o.Unseen += o.untold
	o.Total += o.untold
}

// Write puts what was gained into the attributes, and takes it from where it was. A
// figure that cannot be was not believed, and does not stay.
func (o *SpanShare) Write(m pcommon.Map) {
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
func (o *SpanShare) isOdd(key string, v pcommon.Value) bool {
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

// WriteShare puts a share into attributes, the overlap with collections only if the
// runtime was watched. What a span claimed of its time and was not believed goes.
func WriteShare(m pcommon.Map, share *stall.Share, coverage float64, watched bool) {
	m.RemoveIf(func(k string, _ pcommon.Value) bool {
		return strings.HasPrefix(k, semconv.AttrStallPrefix) || k == semconv.AttrGCOverlap || k == semconv.AttrFidelity
	})
	size := 4 // and the boot id
	for owner := semconv.Owner(stall.GCPause); owner < semconv.NumOwners; owner++ {
		if owner == semconv.Unseen || *owner.Part(share) > 0 {
			size++
		}
	}
	m.EnsureCapacity(m.Len() + size)
	for owner := semconv.Owner(stall.GCPause); owner < semconv.NumOwners; owner++ {
		if d := *owner.Part(share); owner == semconv.Unseen || d > 0 {
			m.PutDouble(owner.Key(), d.Seconds())
		}
	}
	m.PutDouble(semconv.AttrCoverage, coverage)
	if watched {
		m.PutStr(semconv.AttrGCOverlap, semconv.Overlap(share.Collections))
		m.PutStr(semconv.AttrFidelity, share.Fidelity.String())
	}
}
