package semconv

import (
	"log/slog"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// MaxPauses bounds the pauses that one event has. A collection of Go has two, and
// rarely three.
const MaxPauses = 128

// CollectionFields are the attributes of [EventCollection] besides those of every
// event.
var CollectionFields = []Field[gc.Collection]{
	{AttrGCKind, func(c *gc.Collection) slog.Value {
		if c.Kind == gc.NoKind {
			return slog.Value{}
		}
		return slog.StringValue(c.Kind.String())
	}},
	{AttrGCTrigger, func(c *gc.Collection) slog.Value { return text(string(Trigger(c))) }},
	{AttrGCTriggerSite, func(c *gc.Collection) slog.Value { return text(c.TriggerSite) }},
	{AttrGCIndex, func(c *gc.Collection) slog.Value { return positive(Int64(c.Index)) }},
	{AttrGCCycles, func(c *gc.Collection) slog.Value { return slog.Int64Value(int64(c.Cycles)) }},
	{AttrGCGeneration, func(c *gc.Collection) slog.Value { return Known(c.Generation) }},
	{AttrGCPromoted, func(c *gc.Collection) slog.Value { return Known(c.Promoted) }},
	{AttrGCHeapBefore, func(c *gc.Collection) slog.Value { return Known(c.HeapBefore) }},
	{AttrGCHeapAfter, func(c *gc.Collection) slog.Value { return Known(c.HeapAfter) }},
	{AttrGCFragBefore, func(c *gc.Collection) slog.Value { return Known(c.FragmentationBefore) }},
	{AttrGCFragAfter, func(c *gc.Collection) slog.Value { return Known(c.FragmentationAfter) }},
	{AttrGCGoal, func(c *gc.Collection) slog.Value { return Known(c.Goal) }},
	{AttrCPUPrefix + "assist", func(c *gc.Collection) slog.Value { return Known(c.CPU.Assist) }},
	{AttrCPUPrefix + "dedicated", func(c *gc.Collection) slog.Value { return Known(c.CPU.Dedicated) }},
	{AttrCPUPrefix + "idle", func(c *gc.Collection) slog.Value { return Known(c.CPU.Idle) }},
	{AttrCPUPrefix + "pause", func(c *gc.Collection) slog.Value { return Known(c.CPU.Pause) }},
	{AttrCPUPrefix + "total", func(c *gc.Collection) slog.Value { return Known(c.CPU.Total) }},
	{AttrPauseUtilization, func(c *gc.Collection) slog.Value { return Known(c.PauseUtilization) }},
	{AttrGCCompacting, func(c *gc.Collection) slog.Value { return Known(c.Compacting) }},
	{AttrGCConcurrent, func(c *gc.Collection) slog.Value { return Known(c.Concurrent) }},
	{AttrGCPinned, func(c *gc.Collection) slog.Value { return Known(c.Pinned) }},
	{AttrGCFinalizable, func(c *gc.Collection) slog.Value { return Known(c.Finalizable) }},
	{AttrGCMemoryLoad, func(c *gc.Collection) slog.Value { return Known(c.MemoryLoad) }},
	{AttrGCAllocated, func(c *gc.Collection) slog.Value { return Known(c.Allocated) }},
	{AttrGCIncomplete, func(c *gc.Collection) slog.Value { return text(c.Incomplete) }},
	{AttrGCGenerations, func(c *gc.Collection) slog.Value {
		return texts(c.Generations, func(g *gc.Generation) string { return g.ID.String() })
	}},
	generation("size.before", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeBefore }),
	generation("size.after", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeAfter }),
	generation("fragmentation.before", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationBefore }),
	generation("fragmentation.after", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationAfter }),
	generation("promoted", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Promoted }),
	generation("survived", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Survived }),
	generation("budget", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Budget }),
	{AttrHostFaults, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.MajorFaults) }},
	{AttrHostRunDelay, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.RunDelay) }},
	{AttrHostThrottled, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Throttled) }},
	{AttrHostStolen, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Stolen) }},
	{AttrHostOver, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Over) }},
	{AttrHostCPUWait, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.CPUWait) }},
	{AttrHostPageWait, func(c *gc.Collection) slog.Value { return Known(c.HostDuring.PageWait) }},
	{AttrPauseUsual, func(c *gc.Collection) slog.Value { return Known(c.UsualPause) }},
	{AttrSlowedBy, func(c *gc.Collection) slog.Value {
		if c.SlowedBy == gc.NotSlowed {
			return slog.Value{}
		}
		return slog.StringValue(c.SlowedBy.String())
	}},
	{AttrEstimatedFields, func(c *gc.Collection) slog.Value {
		if names := c.Estimated.Names(); len(names) > 0 {
			return slog.AnyValue(names)
		}
		return slog.Value{}
	}},
	{AttrFidelity, func(c *gc.Collection) slog.Value { return slog.StringValue(c.Fidelity.String()) }},
	pause(AttrPauseStart, func(p *gc.Pause) (int64, bool) { return int64(p.Start), true }),
	pause(AttrPauseEnd, func(p *gc.Pause) (int64, bool) { return int64(p.End), true }),
	pause(AttrPauseEndMax, func(p *gc.Pause) (int64, bool) { return int64(max(p.End, p.EndMax)), true }),
	pause(AttrPauseSlack, func(p *gc.Pause) (int64, bool) { return int64(p.Slack), true }),
	{AttrPausePhase, func(c *gc.Collection) slog.Value {
		return texts(sent(c), func(p *gc.Pause) string { return p.Phase.String() })
	}},
	pause(AttrPauseSuspend, nanoseconds(func(p *gc.Pause) gc.Maybe[time.Duration] { return p.Suspend })),
	pause(AttrPauseHostPrefix+"major_faults", func(p *gc.Pause) (int64, bool) {
		n, ok := p.HostDuring.MajorFaults.Get()
		return Int64(n), ok
	}),
	pauseHost("run_delay", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.RunDelay }),
	pauseHost("throttled", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Throttled }),
	pauseHost("stolen", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Stolen }),
	pauseHost("over", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.Over }),
	pauseHost("cpu_wait", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.CPUWait }),
	pauseHost("page_wait", func(h *gc.HostDuring) gc.Maybe[time.Duration] { return h.PageWait }),
}

// AppendCollection appends the attributes of c, with its first [MaxPauses] pauses.
func AppendCollection(dst []slog.Attr, c *gc.Collection) []slog.Attr {
	return appendFields(dst, c, CollectionFields)
}

// Trigger returns the trigger of c, [gc.TriggerUnknown] if it has none.
func Trigger(c *gc.Collection) gc.Trigger {
	if c.Trigger == "" {
		return gc.TriggerUnknown
	}
	return c.Trigger
}

// generation is a field with a number of each generation.
func generation(name string, of func(*gc.Generation) gc.Maybe[gc.Bytes]) Field[gc.Collection] {
	return Field[gc.Collection]{AttrGCPartPrefix + name, func(c *gc.Collection) slog.Value {
		return column(c.Generations, func(g *gc.Generation) (int64, bool) {
			n, ok := of(g).Get()
			return Int64(n), ok
		})
	}}
}

// pause is a field with a number of each pause.
func pause(key string, of func(*gc.Pause) (int64, bool)) Field[gc.Collection] {
	return Field[gc.Collection]{key, func(c *gc.Collection) slog.Value { return column(sent(c), of) }}
}

func nanoseconds(of func(*gc.Pause) gc.Maybe[time.Duration]) func(*gc.Pause) (int64, bool) {
	return func(p *gc.Pause) (int64, bool) {
		d, ok := of(p).Get()
		return int64(d), ok
	}
}

// pauseHost is a field with what the machine did during each pause.
func pauseHost(name string, of func(*gc.HostDuring) gc.Maybe[time.Duration]) Field[gc.Collection] {
	return pause(AttrPauseHostPrefix+name,
		nanoseconds(func(p *gc.Pause) gc.Maybe[time.Duration] { return of(&p.HostDuring) }))
}

// sent returns the pauses of c that its event has.
func sent(c *gc.Collection) []gc.Pause { return c.Pauses[:min(len(c.Pauses), MaxPauses)] }
