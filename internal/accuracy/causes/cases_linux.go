package main

import (
	"context"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// injection is what an injector did.
type injection struct {
	truth    []stall.Span    // when it took the CPU
	switched []stall.Instant // when somebody else may have, in order
}

// injector injects for the span of the experiment.
type injector func(context.Context, *experiment, *process, *injection) error

// testCase is one injection and what a probe has to call it.
type testCase struct {
	name    string
	mode    string // of the probe
	work    string // what the child does to itself
	rights  rights // of the child
	trap    bool   // its probe's memory is one, and wait for each fault to be ended
	wait    bool
	times   int // it takes so many spans; 0 is 1
	prepare func(*childSpec) (undo func() error, err error)
	inject  injector

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
}

// stops are the causes of this process's runtime.
var stops = []string{stall.RuntimeUnknown.String(), stall.GCPause.String()}

// cases are all that are run.
var cases = append(full, fewer()...)

// full are those with all rights.
var full = []testCase{
	{name: "nothing", mode: "spin", never: stops},
	{
		name: "quota of a fifth of a CPU", mode: "spin", prepare: quota, inject: watchQuota,
		want: stall.HostThrottled.String(), from: 5 * time.Millisecond, below: time.Second, cover: 70, never: stops,
	},
	{
		name: "the limit of a real-time thread", mode: "spin", inject: realtime,
		want: stall.HostThrottled.String(), vague: stall.HostPreempted.String(),
		from: 20 * time.Millisecond, below: time.Second, cover: 70, never: stops,
		times: 6, // one a second
	},
	{
		name: "competing thread", mode: "spin", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "competing thread, mode runtime", mode: "runtime", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70,
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
		name: "page faults", mode: "spin", inject: undisturbed(faults), trap: true,
		want: stall.HostFault.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "page faults that wait", mode: "spin", inject: longFaults, trap: true, wait: true,
		want: stall.HostFault.String(), from: 500 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "timer interrupts", mode: "spin", inject: undisturbed(timers),
		want: stall.HostIRQ.String(), vague: stall.HostIRQOrSteal.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "network softirqs", mode: "spin", inject: undisturbed(packets),
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

// again are the cases that are run with fewer rights, too: there a gap may be
// undecided, and not be wrong.
var again = []string{
	"competing thread", "competing thread, mode runtime", "moved to another CPU", "SIGSTOP", "SIGSTOP, mode runtime",
	"page faults", "page faults that wait", "timer interrupts",
}

// fewer returns them.
func fewer() (list []testCase) {
	for _, r := range []rights{nobody, noRecords} {
		for _, c := range full {
			if slices.Contains(again, c.name) {
				c.name, c.rights = c.name+", "+string(r), r
				list = append(list, c)
			}
		}
	}
	return list
}
