package stall

import "fmt"

// Origin names who saw an interval. The list is closed.
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
