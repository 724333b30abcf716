package stall

import (
	"fmt"
	"slices"
	"time"
)

// Scope says which processes an interval of the machine applies to. The list is closed.
type Scope uint8

const (
	ScopeProcess Scope = iota // the process that saw it, as a whole; causes of a runtime
	ScopeCPU                  // one CPU: says nothing about a thread on another, so always coincident
	ScopeTarget               // the threads of one process, named by Interval.Owner
	ScopeCgroup               // all in one cgroup, named by Interval.Owner
	ScopeMachine              // every CPU at once
	NumScopes
)

var scopeNames = [NumScopes]string{"process", "cpu", "target", "cgroup", "machine"}

// String returns the name of s in the telemetry contract, such as "cpu".
func (s Scope) String() string {
	if s < NumScopes {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope(%d)", uint8(s))
}

// MarshalText encodes s by its name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a name.
func (s *Scope) UnmarshalText(name []byte) error {
	i := slices.Index(scopeNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("parse scope %q: not in the closed list", string(name)) // a copy, so that name need not escape
	}
	*s = Scope(i)
	return nil
}

// Owner names the cgroup or the process that an interval of the machine
// belongs to. The zero Owner names none.
type Owner struct {
	Cgroup  uint64 // inode of the cgroup's directory, for ScopeCgroup
	PID     int32  // in the initial PID namespace, for ScopeTarget
	Created uint64 // field 22 of /proc/PID/stat, clock ticks since boot, for ScopeTarget
}

// Interval is one stall as one source saw it, half open.
type Interval struct {
	Start, End Instant
	// Slack bounds the error of Start and End that the source admits to: the
	// stall may lie earlier or later by up to Slack.
	Slack  time.Duration
	Cause  Cause
	Origin Origin
	Scope  Scope
	CPU    int32 // logical number of the CPU that was seen, -1 or 0 if it does not matter
	Owner  Owner
	// Ref is the origin's own number of the collection that the interval is of,
	// zero if it is of none, or its number is not known: then it counts as the only
	// pause of its collection. It means the same in all of one epoch of a source, and
	// nothing beyond it.
	Ref uint64
}

// Span returns the nominal extent of v.
func (v Interval) Span() Span { return Span{v.Start, v.End} }

// Duration returns End - Start, never negative.
func (v Interval) Duration() time.Duration { return v.Span().Duration() }
