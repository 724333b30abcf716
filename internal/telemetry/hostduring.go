package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// What the machine did to the process in each pause, as arrays parallel to the
// other arrays of pauses.
const (
	attrPauseFaults    = stall.AttrPauseHostPrefix + "major_faults"
	attrPauseRunDelay  = stall.AttrPauseHostPrefix + "run_delay"
	attrPauseThrottled = stall.AttrPauseHostPrefix + "throttled"
	attrPauseStolen    = stall.AttrPauseHostPrefix + "stolen"
	attrPauseOver      = stall.AttrPauseHostPrefix + "over"
	attrPauseCPUWait   = stall.AttrPauseHostPrefix + "cpu_wait"
	attrPausePageWait  = stall.AttrPauseHostPrefix + "page_wait"
)

// hostAttributes returns what the machine did to the process during c, and what
// that made of its pauses.
func hostAttributes(c *gc.Collection) attributes {
	var a attributes
	h := &c.HostDuring
	if n, ok := h.MajorFaults.Get(); ok {
		a.int(stall.AttrHostFaults, asInt64(n))
	}
	a.seconds(stall.AttrHostRunDelay, h.RunDelay)
	a.seconds(stall.AttrHostThrottled, h.Throttled)
	a.seconds(stall.AttrHostStolen, h.Stolen)
	a.seconds(stall.AttrHostOver, h.Over)
	a.seconds(stall.AttrHostCPUWait, h.CPUWait)
	a.seconds(stall.AttrHostPageWait, h.PageWait)
	a.seconds(stall.AttrPauseUsual, c.UsualPause)
	if c.SlowedBy != gc.NotSlowed {
		a.text(stall.AttrSlowedBy, c.SlowedBy.String())
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
