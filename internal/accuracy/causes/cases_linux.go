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

	// want is the cause that the gaps of the injection have. Empty: there is
	// no truth, and never is a cause that may not occur.
	want  string
	never []string
	// A gap is the injection's if it is within these bounds, and the injection
	// covers so much of it, in hundredths. Zero: it need only overlap, and no
	// other gap overlaps the same stretch.
	from, below time.Duration
	cover       int
	of          int  // it has to cover so much of the injection, too
	ends        bool // it has to last until the injection is over
	// after is how long it may go on then: of its time only that before counts
	// for cover.
	after time.Duration
}

// restart is how long the runtime may take to start the world, once it has taken
// the time that it calls the pause: see docs/accuracy/pauses.md.
const restart = 200 * time.Microsecond

// stops are the causes of this process's runtime.
var stops = []string{stall.RuntimeUnknown.String(), stall.GCPause.String()}

var cases = []testCase{
	{name: "nothing", mode: "spin", never: stops},
	{
		name: "quota of a fifth of a CPU", mode: "spin", prepare: quota, inject: watchQuota,
		want: stall.HostThrottled.String(), from: 5 * time.Millisecond, below: time.Second, cover: 70, never: stops,
	},
	{
		name: "competing thread", mode: "spin", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
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
		want: stall.HostIRQ.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "network softirqs", mode: "spin", inject: packets,
		want: stall.HostIRQ.String(), from: time.Microsecond, below: 100 * time.Microsecond, never: stops,
	},
	{name: "own garbage collection, mode spin", mode: "spin", work: "gc", never: stops},
	{
		name: "own garbage collection, mode runtime", mode: "runtime", work: "gc",
		want: stall.RuntimeUnknown.String(), from: 20 * time.Microsecond, below: time.Second, cover: 70, of: 50, ends: true, after: restart,
	},
	{name: "no garbage collection, mode runtime", mode: "runtime", work: "calm", never: stops},
}
