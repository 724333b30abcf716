package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const bootID = "5d3c7a10-6c1e-4a57-9d26-0f6a1c5be2aa"

// exactCollection has every field that a record can have.
func exactCollection() gc.Collection {
	return gc.Collection{
		Index: 7, Cycles: 1, Kind: gc.Background, Generation: gc.Known(2),
		Trigger: gc.TriggerHeap, TriggerSite: "main.handle",
		Start: gc.Known(stall.Instant(10_000_000)), End: gc.Known(stall.Instant(14_000_000)),
		Pauses: []gc.Pause{
			{Start: 10_000_000, End: 10_040_000, EndMax: 10_041_000, Suspend: gc.Known(3 * time.Microsecond), Phase: gc.SweepTermination, Slack: 50},
			{Start: 13_000_000, End: 13_070_000, EndMax: 13_070_000, Phase: gc.MarkTermination, Slack: 60, HostDuring: gc.HostDuring{
				MajorFaults: gc.Known(uint64(0)), RunDelay: gc.Known(21 * time.Microsecond), Throttled: gc.Known(time.Duration(0)),
				Stolen: gc.Known(time.Duration(0)), Over: gc.Known(110 * time.Millisecond),
				CPUWait: gc.Known(20 * time.Microsecond), PageWait: gc.Known(time.Duration(0)),
			}},
		},
		Promoted: gc.Known(gc.Bytes(3 << 20)), HeapBefore: gc.Known(gc.Bytes(8 << 20)), HeapAfter: gc.Known(gc.Bytes(4 << 20)),
		FragmentationBefore: gc.Known(gc.Bytes(1 << 16)), FragmentationAfter: gc.Known(gc.Bytes(0)),
		Goal: gc.Known(gc.Bytes(9 << 20)),
		CPU: gc.CPU{
			Assist: gc.Known(time.Millisecond), Dedicated: gc.Known(4 * time.Millisecond), Idle: gc.Known(time.Duration(0)),
			Pause: gc.Known(200 * time.Microsecond), Total: gc.Known(5200 * time.Microsecond),
		},
		PauseUtilization: gc.Known(0.0125),
		HostDuring: gc.HostDuring{
			MajorFaults: gc.Known(uint64(2)), RunDelay: gc.Known(30 * time.Microsecond), Throttled: gc.Known(time.Duration(0)),
			Stolen: gc.Known(10 * time.Millisecond), Over: gc.Known(120 * time.Millisecond),
			CPUWait: gc.Known(25 * time.Microsecond), PageWait: gc.Known(time.Duration(0)),
		},
		UsualPause: gc.Known(50 * time.Microsecond), SlowedBy: gc.StolenCPU,
		Origin: stall.GoTrace, Fidelity: stall.Exact,
	}
}

// cycleCollection is what cycle fidelity knows when cycles fell together.
func cycleCollection() gc.Collection {
	return gc.Collection{
		Index: 8, Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerForced,
		End: gc.Known(stall.Instant(30_000_000)),
		Pauses: []gc.Pause{
			{Start: 29_900_000, End: 30_000_000, EndMax: 30_000_000, Slack: 2 * time.Millisecond},
		},
		HeapBefore: gc.Known(gc.Bytes(16 << 20)),
		Estimated:  gc.FieldPauses | gc.FieldHeapBefore,
		Origin:     stall.GCWatch, Fidelity: stall.Cycle,
	}
}

// play records one of everything and returns the rig.
func play(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Options{BootID: bootID, PID: 42, GoMetrics: true, GapCPU: true})
	blocking, exact, cycle := exactCollection(), exactCollection(), cycleCollection()
	blocking.Index, blocking.Kind, blocking.Trigger = 6, gc.FullBlocking, gc.TriggerPeriodic
	for _, c := range []*gc.Collection{&blocking, &exact, &cycle} {
		r.Collection(c)
	}
	r.CyclePauses(gc.Background, 50e-6, 2)
	r.Suspends(gc.Background, 1e-6, 1)
	r.GoPauses(40e-6, 3)
	r.GoTotals(GoTotals{
		GCAssist: gc.Known(time.Second), GCDedicated: gc.Known(2 * time.Second), GCIdle: gc.Known(time.Duration(0)),
		GCPause: gc.Known(500 * time.Millisecond), ScavengeAssist: gc.Known(time.Duration(0)),
		ScavengeBackground: gc.Known(10 * time.Millisecond), User: gc.Known(20 * time.Second),
		Allocated: gc.Known(gc.Bytes(1 << 30)),
	})
	r.Suspension(stall.Interval{Start: 40_000_000, End: 42_000_000, Cause: stall.RuntimeSuspension, Origin: stall.GoTrace},
		"read_mem_stats", "runtime.ReadMemStats", stall.Exact)
	r.Suspension(stall.Interval{Start: 45_000_000, End: 45_010_000, Slack: time.Millisecond, Cause: stall.RuntimeUnknown, Origin: stall.GCWatch},
		"", "", stall.Cycle)
	r.Gap(stall.Interval{
		Start: 50_000_000, End: 65_000_000, Cause: stall.HostThrottled, Origin: stall.ProbeSpin, CPU: 3,
		Scope: stall.ScopeCgroup, Owner: stall.Owner{Cgroup: 1234},
	}, func() string { return "cpu.stat nr_throttled +1" })
	r.Gap(stall.Interval{
		Start: 51_000_000, End: 51_060_000, Cause: stall.HostPreempted, Origin: stall.ProbeSpin,
		Scope: stall.ScopeTarget, Owner: stall.Owner{PID: 99, Created: 8_000_000},
	}, func() string { return "schedstat run_delay" })
	r.Gap(stall.Interval{Start: 70_000_000, End: 70_003_000, Cause: stall.HostUnknown, Origin: stall.ProbePeriodic, Scope: stall.ScopeCPU}, nothing)
	playRequests(r)
	r.Observed(stall.ProbeSpin, 990*time.Millisecond)
	r.Coverage(stall.ProbeSpin, 0.99)
	r.PauseUtilization("process", 0.0125)
	r.Dropped("gap", "ring_full", 4)
	return r
}

// playRequests counts a request that nothing stalled, one that one cause did,
// and a slow one that owes time to everybody.
func playRequests(r *rig) {
	calm := stall.Share{Total: 300 * time.Microsecond, AppOrHost: 300 * time.Microsecond, Fidelity: stall.Exact}
	r.Request(&Request{Share: &calm})
	one := stall.Share{Total: 7 * time.Millisecond, Unseen: 6 * time.Millisecond}
	one.Charged[stall.GCPause] = time.Millisecond
	r.Request(&Request{Share: &one, Collections: 1, Kind: gc.Background, Route: "GET /orders"})
	slow := stall.Share{
		App: time.Millisecond, AppOrHost: 2 * time.Millisecond,
		Uncertain: 3 * time.Millisecond, Unseen: 4 * time.Millisecond, Covered: 9 * time.Millisecond,
	}
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		slow.Charged[c] = time.Duration(c) * 100 * time.Microsecond
	}
	slow.Total = 10 * time.Millisecond
	for _, d := range slow.Charged {
		slow.Total += d
	}
	q := Request{Share: &slow, Collections: 3, Kind: gc.FullBlocking, Route: "GET /orders", Span: spanContext()}
	r.Request(&q)
	span := q.Span
	r.Slow(&semconv.Slow{
		TraceID: span.TraceID().String(), SpanID: span.SpanID().String(), Route: q.Route,
		Share: &slow, Collections: q.Collections, Sentence: slow.Explain(), Capture: "/var/lib/otelgc/slow.html", NotCaptured: "write", // never both: it shows each attribute
	}, span, &stall.Window{Start: 80_000_000, End: 80_000_000 + stall.Instant(slow.Total)}, stall.GoTrace)
	slow.Fidelity = stall.Exact
	r.Traced(&semconv.Traced{
		Span: stall.Span{Start: 80_001_000, End: 80_001_000 + stall.Instant(slow.Total)}, Slack: 64, Task: "GET /orders", Share: slow,
	}, stall.GoUprobe)
}

func spanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5}, TraceFlags: trace.FlagsSampled,
	})
}

func playStatus(r *rig) {
	r.Status(semconv.Status{
		Origin: stall.ProbeSpin, Since: 1, At: 1_000_000_000, Watermark: 999_000_000,
		Unseen:  []stall.Span{{Start: 100, End: 200}, {Start: 300, End: 450}},
		Dropped: 4, DroppedTime: time.Millisecond, ProbedCPUs: []int{3}, TargetPID: 99, Cgroups: []uint64{30, 3},
	})
	r.Status(semconv.Status{Origin: stall.GCWatch, Since: 1, At: 1_000_000_000})
}

func TestMetrics(t *testing.T) {
	r := play(t)
	r.nextSecond()
	golden(t, "metrics.txt", renderMetrics(collect(t, r.reader)))
}

func TestEvents(t *testing.T) {
	r := play(t)
	events := r.nextSecond()
	playStatus(r)
	golden(t, "events.txt", renderEvents(append(events, r.events.taken()...)))
}
