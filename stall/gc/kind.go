package gc

import (
	"fmt"
	"slices"
)

// Kind says how much of the program a collection stopped. The names are those
// of .NET's GCKind.
type Kind uint8

const (
	NoKind       Kind = iota
	Ephemeral         // a young generation, the program stopped throughout (.NET)
	Background        // concurrent with the program but for short pauses: every ordinary Go cycle
	FullBlocking      // the whole heap, the program stopped throughout (GODEBUG=gcstoptheworld in Go)
	NumKinds
)

var kindNames = [NumKinds]string{"none", "ephemeral", "background", "full_blocking"}

// String returns the name of k in the telemetry contract.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText encodes k by its name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText decodes a name.
func (k *Kind) UnmarshalText(name []byte) error { return parseName(k, "kind", kindNames[:], name) }

// parseName sets v to the place of name among names.
func parseName[T ~uint8](v *T, what string, names []string, name []byte) error {
	i := slices.Index(names, string(name))
	if i < 0 {
		return fmt.Errorf("parse %s %q: not known", what, string(name)) // a copy, so that name need not escape
	}
	*v = T(i)
	return nil
}

// Trigger says why a collection began.
type Trigger string

const (
	TriggerUnknown   Trigger = "unknown"
	TriggerAutomatic Trigger = "automatic" // the runtime's own decision: the heap reached its goal, or two minutes passed
	TriggerForced    Trigger = "forced"    // runtime.GC, debug.FreeOSMemory
	TriggerHeap      Trigger = "heap"      // exact: an allocation reached the heap's trigger
	TriggerPeriodic  Trigger = "periodic"  // exact: runtime.forcegchelper
)

// IsZero reports whether the trigger is not known, so that the json tag omitzero
// leaves it out.
func (t Trigger) IsZero() bool { return t == "" || t == TriggerUnknown }

// Phase says which stop-the-world of a collection a pause was.
type Phase uint8

const (
	PhaseUnknown Phase = iota
	SweepTermination
	MarkTermination
)

var phaseNames = [...]string{"unknown", "sweep_termination", "mark_termination"}

// String returns the name of p in the telemetry contract.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalText encodes p by its name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText decodes a name.
func (p *Phase) UnmarshalText(name []byte) error { return parseName(p, "phase", phaseNames[:], name) }
