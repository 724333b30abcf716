package stall

import (
	"fmt"
)

// Cause says what stalled a program. The list is closed, and its order is the
// order of precedence of the join: where two causes cover the same nanosecond,
// the earlier one is charged (see [Joiner] for the one exception).
type Cause uint8

const (
	NoCause           Cause = iota // not a cause; the zero value
	GCPause                        // stop-the-world for garbage collection
	RuntimeSuspension              // stop-the-world not for garbage collection
	GCAssist                       // the goroutine marked for the collector, or was parked for credit
	GCSweep                        // the goroutine swept before it could allocate
	GCWait                         // the goroutine was blocked until a phase of the collector ended
	SchedGC                        // runnable, not running, while a GC worker above idle priority held a P: an upper bound
	Sched                          // runnable, not running, otherwise
	HostThrottled                  // cgroup quota or real-time throttling
	HostPreempted                  // another thread had the CPU
	HostIRQ                        // interrupt, softirq or tick
	HostSteal                      // the hypervisor or the firmware had the CPU
	HostIRQOrSteal                 // one of the two; the evidence cannot tell
	HostFault                      // page fault
	HostSuspended                  // the machine slept, or, of scope process, the process that saw it was stopped
	HostUnknown                    // the machine, for a reason that no evidence decides
	RuntimeUnknown                 // a stop of the runtime that no record explains
	Queue                          // before the handler's first instruction or after its last, and none of the above
	NumCauses                      // the number of causes, NoCause included
)

var causeNames = [NumCauses]string{
	NoCause:           "none",
	GCPause:           "gc.pause",
	RuntimeSuspension: "runtime.suspension",
	GCAssist:          "gc.assist",
	GCSweep:           "gc.sweep",
	GCWait:            "gc.wait",
	SchedGC:           "sched.gc",
	Sched:             "sched",
	HostThrottled:     "host.throttled",
	HostPreempted:     "host.preempted",
	HostIRQ:           "host.irq",
	HostSteal:         "host.steal",
	HostIRQOrSteal:    "host.irq_or_steal",
	HostFault:         "host.fault",
	HostSuspended:     "host.suspended",
	HostUnknown:       "host.unknown",
	RuntimeUnknown:    "runtime.unknown",
	Queue:             "queue",
}

// String returns the name of c in the telemetry contract, such as "gc.pause".
func (c Cause) String() string {
	if c < NumCauses {
		return causeNames[c]
	}
	return fmt.Sprintf("cause(%d)", uint8(c))
}

// ParseCause returns the cause that s names.
func ParseCause(s string) (Cause, error) {
	for c := GCPause; c < NumCauses; c++ {
		if causeNames[c] == s {
			return c, nil
		}
	}
	return NoCause, fmt.Errorf("parse cause %q: not in the closed list", s)
}

// MarshalText encodes c by its name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText decodes a name, that of NoCause too.
func (c *Cause) UnmarshalText(name []byte) (err error) {
	if *c = NoCause; string(name) != causeNames[NoCause] {
		*c, err = ParseCause(string(name))
	}
	return err
}

// IsGC reports whether c counts in the headline share of garbage collection:
// pause, assist, sweep and wait. SchedGC does not: it is an upper bound.
func (c Cause) IsGC() bool {
	return c == GCPause || c == GCAssist || c == GCSweep || c == GCWait
}

// IsHost reports whether c is of the machine rather than of the runtime.
func (c Cause) IsHost() bool { return c >= HostThrottled && c <= HostUnknown }

// IsStop reports whether c stops every goroutine of the process at once.
func (c Cause) IsStop() bool {
	return c == GCPause || c == RuntimeSuspension || c == RuntimeUnknown
}

// Origin names the source that saw an interval. The list is closed.
type Origin uint8

const (
	NoOrigin      Origin = iota // the zero value
	GCWatch                     // internal/gcwatch: per cycle, this process
	GoTrace                     // internal/gotrace: the execution trace, exact
	GoUprobe                    // internal/gouprobe: any Go process, from outside
	Dotnet                      // internal/dotnetgc: any .NET process, from outside
	ProbeSpin                   // jitterprobe, mode spin
	ProbeRuntime                // jitterprobe, mode runtime
	ProbePeriodic               // jitterprobe, mode periodic
	TargetWatch                 // what the machine did to one process's own threads
	NumOrigins
)

var originNames = [NumOrigins]string{
	NoOrigin:      "none",
	GCWatch:       "gcwatch",
	GoTrace:       "gotrace",
	GoUprobe:      "gouprobe",
	Dotnet:        "dotnet",
	ProbeSpin:     "probe.spin",
	ProbeRuntime:  "probe.runtime",
	ProbePeriodic: "probe.periodic",
	TargetWatch:   "target",
}

// String returns the name of s in the telemetry contract, such as "gotrace".
func (s Origin) String() string {
	if s < NumOrigins {
		return originNames[s]
	}
	return fmt.Sprintf("source(%d)", uint8(s))
}

// Fidelity says how well the runtime was watched.
type Fidelity uint8

const (
	Cycle Fidelity = iota // per GC cycle: what overlaps for certain, and a charge of it is "at most"
	Exact                 // every stop and every state of the goroutine
)

// String returns "cycle" or "exact".
func (f Fidelity) String() string {
	if f == Exact {
		return "exact"
	}
	return "cycle"
}

// MarshalText encodes f by its name.
func (f Fidelity) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText decodes a name.
func (f *Fidelity) UnmarshalText(name []byte) error {
	switch string(name) {
	case "exact":
		*f = Exact
	case "cycle":
		*f = Cycle
	default:
		return fmt.Errorf("parse fidelity %q: want exact or cycle", name)
	}
	return nil
}
