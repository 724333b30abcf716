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
	{AttrGCKind, "ephemeral, background or full_blocking", func(c *gc.Collection) slog.Value {
		if c.Kind == gc.NoKind {
			return slog.Value{}
		}
		return slog.StringValue(c.Kind.String())
	}},
	{AttrGCTrigger, "why the collection began: automatic, forced, heap, periodic, unknown; of .NET the runtime's own reason, such as AllocSmall or Induced",
		func(c *gc.Collection) slog.Value { return text(string(Trigger(c))) }},
	{AttrGCTriggerSite, "the function that triggered the collection (exact)", func(c *gc.Collection) slog.Value { return text(c.TriggerSite) }},
	{AttrGCIndex, "number of the collection in its process, the first is 1", func(c *gc.Collection) slog.Value { return positive(Int64(c.Index)) }},
	{AttrGCCycles, "how many collections the record stands for", func(c *gc.Collection) slog.Value { return slog.Int64Value(int64(c.Cycles)) }},
	{AttrGCGeneration, "the oldest generation that was collected (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Generation) }},
	{AttrGCPromoted, "bytes that survived; in Go the bytes marked live", func(c *gc.Collection) slog.Value { return Known(c.Promoted) }},
	{AttrGCHeapBefore, "heap when the collection began, in bytes", func(c *gc.Collection) slog.Value { return Known(c.HeapBefore) }},
	{AttrGCHeapAfter, "heap when the collection ended, in bytes", func(c *gc.Collection) slog.Value { return Known(c.HeapAfter) }},
	{AttrGCFragBefore, "fragmentation when the collection began, in bytes", func(c *gc.Collection) slog.Value { return Known(c.FragmentationBefore) }},
	{AttrGCFragAfter, "fragmentation when the collection ended, in bytes", func(c *gc.Collection) slog.Value { return Known(c.FragmentationAfter) }},
	{AttrGCGoal, "heap size at which the collection was to be over, in bytes", func(c *gc.Collection) slog.Value { return Known(c.Goal) }},
	{AttrCPUPrefix + "assist", "CPU seconds of goroutines that marked for the collector", func(c *gc.Collection) slog.Value { return Known(c.CPU.Assist) }},
	{AttrCPUPrefix + "dedicated", "CPU seconds of dedicated and fractional GC workers", func(c *gc.Collection) slog.Value { return Known(c.CPU.Dedicated) }},
	{AttrCPUPrefix + "idle", "CPU seconds of GC workers on processors that were idle", func(c *gc.Collection) slog.Value { return Known(c.CPU.Idle) }},
	{AttrCPUPrefix + "pause", "CPU seconds that the pauses took from the program", func(c *gc.Collection) slog.Value { return Known(c.CPU.Pause) }},
	{AttrCPUPrefix + "total", "CPU seconds of all GC work", func(c *gc.Collection) slog.Value { return Known(c.CPU.Total) }},
	{AttrPauseUtilization, "share of wall time paused since the process began, 0 to 1", func(c *gc.Collection) slog.Value { return Known(c.PauseUtilization) }},
	{AttrGCCompacting, "whether the collection moved objects (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Compacting) }},
	{AttrGCConcurrent, "whether it ran beside the program, whatever was announced (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Concurrent) }},
	{AttrGCPinned, "objects that could not be moved (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Pinned) }},
	{AttrGCFinalizable, "objects that became ready for finalization (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Finalizable) }},
	{AttrGCMemoryLoad, "physical memory in use on the machine, 0 to 1 (.NET)", func(c *gc.Collection) slog.Value { return Known(c.MemoryLoad) }},
	{AttrGCAllocated, "bytes allocated since the collection before (.NET)", func(c *gc.Collection) slog.Value { return Known(c.Allocated) }},
	{AttrGCIncomplete, "why the record lacks a part (.NET)", func(c *gc.Collection) slog.Value { return text(c.Incomplete) }},
	{AttrGCGenerations, "the generations of the heap; the arrays of the same prefix are parallel to it, -1 is not known (.NET)",
		func(c *gc.Collection) slog.Value {
			return texts(c.Generations, func(g *gc.Generation) string { return g.ID.String() })
		}},
	generation("size.before", "size of each generation before, free space in it, in bytes", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeBefore }),
	generation("size.after", "size of each generation after, free space in it, in bytes", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeAfter }),
	generation("fragmentation.before", "free space in each generation before, in bytes", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationBefore }),
	generation("fragmentation.after", "free space in each generation after, in bytes", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationAfter }),
	generation("promoted", "bytes that survived in each generation, by the runtime's own sum", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Promoted }),
	generation("survived", "bytes that survived in each generation, by the heaps' own records", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Survived }),
	generation("budget", "bytes that may be allocated in each generation before its next collection", func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Budget }),
	{AttrHostFaults, "major page faults of the process around the collection, within otelgc.host_during.over", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.MajorFaults) }},
	{AttrHostRunDelay, "seconds that the process's threads waited for a CPU, summed over them: within the collection if the sidecar follows these threads, else around it",
		func(c *gc.Collection) slog.Value { return Known(c.HostDuring.RunDelay) }},
	{AttrHostThrottled, "seconds that the process's cgroups were throttled around the collection, summed over CPUs", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Throttled) }},
	{AttrHostStolen, "seconds that the hypervisor admits to have taken around the collection, of all CPUs, in steps of 10 ms", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Stolen) }},
	{AttrHostOver, "seconds between the readings of the counters around the collection: what they count may have been outside of it", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.Over) }},
	{AttrHostCPUWait, "seconds within the collection in which a thread of the process was ready to run and none ran", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.CPUWait) }},
	{AttrHostPageWait, "seconds within the collection in which a thread of the process waited for a page from disk, and none ran or was ready", func(c *gc.Collection) slog.Value { return Known(c.HostDuring.PageWait) }},
	{AttrPauseUsual, "seconds that collections of the kind pause for the same work: by the median of the last 63", func(c *gc.Collection) slog.Value { return Known(c.UsualPause) }},
	{AttrSlowedBy, "what made the pauses long, stolen_cpu or paging: said where they took at least twice the usual, and half of the excess was the machine's for certain",
		func(c *gc.Collection) slog.Value {
			if c.SlowedBy == gc.NotSlowed {
				return slog.Value{}
			}
			return slog.StringValue(c.SlowedBy.String())
		}},
	{AttrEstimatedFields, "the fields of the record that are estimates", func(c *gc.Collection) slog.Value {
		if names := c.Estimated.Names(); len(names) > 0 {
			return slog.AnyValue(names)
		}
		return slog.Value{}
	}},
	{AttrFidelity, "how well the runtime was watched: cycle or exact; absent where it was not", func(c *gc.Collection) slog.Value { return slog.StringValue(c.Fidelity.String()) }},
	pause(AttrPauseStart, "start of each pause, CLOCK_MONOTONIC ns", func(p *gc.Pause) (int64, bool) { return int64(p.Start), true }),
	pause(AttrPauseEnd, "end of each pause, CLOCK_MONOTONIC ns", func(p *gc.Pause) (int64, bool) { return int64(p.End), true }),
	pause(AttrPauseEndMax, "upper bound of the end of each pause, CLOCK_MONOTONIC ns; of .NET a pause ends where the restart of the threads begins, and this is where that is over: the connector calls the time between uncertain",
		func(p *gc.Pause) (int64, bool) { return int64(max(p.End, p.EndMax)), true }),
	pause(AttrPauseSlack, "bound of the error of each pause's place in time, in ns", func(p *gc.Pause) (int64, bool) { return int64(p.Slack), true }),
	{AttrPausePhase, "sweep_termination, mark_termination or unknown; on a metric one string; in fidelity cycle mark_termination has what is certain of it, and the rest of the sum may be of both",
		func(c *gc.Collection) slog.Value {
			return texts(sent(c), func(p *gc.Pause) string { return p.Phase.String() })
		}},
	pause(AttrPauseSuspend, "time it took to stop the threads for each pause, in ns; -1 where it is not known", nanoseconds(func(p *gc.Pause) gc.Maybe[time.Duration] { return p.Suspend })),
	pause(AttrPauseHostPrefix+"major_faults", "major page faults around each pause; -1 where it is not known, here and below", func(p *gc.Pause) (int64, bool) {
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
func generation(name, meaning string, of func(*gc.Generation) gc.Maybe[gc.Bytes]) Field[gc.Collection] {
	return Field[gc.Collection]{AttrGCPartPrefix + name, meaning, func(c *gc.Collection) slog.Value {
		return column(c.Generations, func(g *gc.Generation) (int64, bool) {
			n, ok := of(g).Get()
			return Int64(n), ok
		})
	}}
}

// pause is a field with a number of each pause.
func pause(key, meaning string, of func(*gc.Pause) (int64, bool)) Field[gc.Collection] {
	return Field[gc.Collection]{key, meaning, func(c *gc.Collection) slog.Value { return column(sent(c), of) }}
}

func nanoseconds(of func(*gc.Pause) gc.Maybe[time.Duration]) func(*gc.Pause) (int64, bool) {
	return func(p *gc.Pause) (int64, bool) {
		d, ok := of(p).Get()
		return int64(d), ok
	}
}

// pauseHost is a field with what the machine did during each pause.
func pauseHost(name string, of func(*gc.HostDuring) gc.Maybe[time.Duration]) Field[gc.Collection] {
	return pause(AttrPauseHostPrefix+name, "as otelgc.host_during."+name+" for each pause, in ns",
		nanoseconds(func(p *gc.Pause) gc.Maybe[time.Duration] { return of(&p.HostDuring) }))
}

// sent returns the pauses of c that its event has.
func sent(c *gc.Collection) []gc.Pause { return c.Pauses[:min(len(c.Pauses), MaxPauses)] }
