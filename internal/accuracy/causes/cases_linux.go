package main

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// injection is what an injector did.
type injection struct {
	truth []stall.Span // when it took the CPU
}

// testCase is one injection and what a probe has to call it.
type testCase struct {
	name    string
	mode    string // of the probe
	work    string // what the child does to itself
	prepare func(*childSpec) (undo func() error, err error)
	inject  func(context.Context, *experiment, *process, *injection) error

	// want is the cause that the gaps of the injection have, and evidence what is
	// said of each of them, in part. Without want there is no truth, and never is a
	// cause that may not occur.
	want     string
	evidence string
	never    []string
	but      bool // in the injection it may
	// vague is what is true as well and says less: it decides nothing.
	vague string
	// A gap is the injection's if it is within these bounds, and the injection
	// covers so much of it, in hundredths. Zero: it need only overlap, and no
	// other gap overlaps the same stretch.
	from, below time.Duration
	cover       int
	// least is how many gaps of known truth a verdict takes; 0 is leastKnown.
	least int
}

// stops are the causes of this process's runtime.
var stops = []string{stall.RuntimeUnknown.String(), stall.GCPause.String()}

var cases = []testCase{
	{name: "nothing", mode: "spin", never: stops},
	{
		name: "quota of a fifth of a CPU", mode: "spin", prepare: quota, inject: watchQuota,
		want: stall.HostThrottled.String(), from: 5 * time.Millisecond, below: time.Second, cover: 70, never: stops,
	},
	{
		name: "the limit of a real-time thread", mode: "spin", inject: realtime,
		want: stall.HostThrottled.String(), vague: stall.HostPreempted.String(),
		from: 20 * time.Millisecond, below: time.Second, cover: 70, never: stops,
		least: 10, // one a second
	},
	{
		name: "competing thread", mode: "spin", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "moved to another CPU", mode: "spin", inject: move,
		want: stall.HostPreempted.String(), evidence: "moved to another CPU", from: time.Microsecond, below: time.Second, never: stops,
	},
	{
		name: "SIGSTOP", mode: "spin", inject: stopAndGo,
		want: stall.HostSuspended.String(), from: 2 * time.Millisecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "SIGSTOP, mode runtime", mode: "runtime", inject: stopAndGo,
		want: stall.HostSuspended.String(), from: 2 * time.Millisecond, below: time.Minute, cover: 70,
	},
	{
		name: "page faults", mode: "spin", work: "faults",
		want: stall.HostFault.String(), from: time.Microsecond, below: 100 * time.Microsecond, never: stops,
	},
	{
		name: "timer interrupts", mode: "spin", inject: timers,
		want: stall.HostIRQ.String(), vague: stall.HostIRQOrSteal.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "network softirqs", mode: "spin", inject: packets,
		want: stall.HostIRQ.String(), vague: stall.HostIRQOrSteal.String(), from: time.Microsecond, below: 100 * time.Microsecond, never: stops,
	},
	{name: "own garbage collection, mode spin", mode: "spin", work: "gc", never: stops},
	{
		name: "own garbage collection, mode runtime", mode: "runtime", work: "gc held",
		want: stall.RuntimeUnknown.String(), from: time.Microsecond, below: time.Second, cover: 70,
	},
	{
		name: "no garbage collection, mode runtime", mode: "runtime", work: "calm",
		want: stall.RuntimeUnknown.String(), from: time.Microsecond, below: 30 * time.Microsecond, never: stops, but: true,
	},
}
