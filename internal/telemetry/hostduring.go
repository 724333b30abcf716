package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// What the machine did to the process in each pause, as arrays parallel to the
// other arrays of pauses.
const (
	attrPauseFaults    = semconv.AttrPauseHostPrefix + "major_faults"
	attrPauseRunDelay  = semconv.AttrPauseHostPrefix + "run_delay"
	attrPauseThrottled = semconv.AttrPauseHostPrefix + "throttled"
	attrPauseStolen    = semconv.AttrPauseHostPrefix + "stolen"
	attrPauseOver      = semconv.AttrPauseHostPrefix + "over"
	attrPauseCPUWait   = semconv.AttrPauseHostPrefix + "cpu_wait"
	attrPausePageWait  = semconv.AttrPauseHostPrefix + "page_wait"
)

// hostAttributes returns what the machine did to the process during c, and what
// that made of its pauses.
func hostAttributes(c *gc.Collection) attributes {
	var a attributes
	h := &c.HostDuring
	if n, ok := h.MajorFaults.Get(); ok {
		a.int(semconv.AttrHostFaults, asInt64(n))
	}
	a.seconds(semconv.AttrHostRunDelay, h.RunDelay)
	a.seconds(semconv.AttrHostThrottled, h.Throttled)
	a.seconds(semconv.AttrHostStolen, h.Stolen)
	a.seconds(semconv.AttrHostOver, h.Over)
	a.seconds(semconv.AttrHostCPUWait, h.CPUWait)
	a.seconds(semconv.AttrHostPageWait, h.PageWait)
	a.seconds(semconv.AttrPauseUsual, c.UsualPause)
	if c.SlowedBy != gc.NotSlowed {
		a.text(semconv.AttrSlowedBy, c.SlowedBy.String())
	}
	return a
}

// pauseHostAttributes returns the same of each pause, as parallel arrays.
func pauseHostAttributes(pauses []gc.Pause) []attribute.KeyValue {
	var a []attribute.KeyValue
	duration := func(of func(*gc.HostDuring) gc.Maybe[time.Duration]) func(*gc.HostDuring) (int64, bool) {
		return func(h *gc.HostDuring) (int64, bool) {
			d, known := of(h).Get()
			return int64(d), known
		}
	}
	for _, column := range []struct {
		key string
		of  func(*gc.HostDuring) (int64, bool)
	}{
		{attrPauseFaults, func(h *gc.HostDuring) (int64, bool) {
			n, known := h.MajorFaults.Get()
			return asInt64(n), known
		}},
		{attrPauseRunDelay, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.RunDelay })},
		{attrPauseThrottled, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Throttled })},
		{attrPauseStolen, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Stolen })},
		{attrPauseOver, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Over })},
		{attrPauseCPUWait, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.CPUWait })},
		{attrPausePageWait, duration(func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.PageWait })},
	} {
		a = parallel(a, column.key, pauses, func(p *gc.Pause) (int64, bool) { return column.of(&p.HostDuring) })
	}
	return a
}
