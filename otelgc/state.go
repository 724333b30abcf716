package otelgc

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// state is a stretch of a goroutine in one state, with what the join wants to
// know of the reason.
type state struct {
	start, end stall.Instant
	state      stall.State
	gcWait     bool // parked until the collector has done something
	held       bool // kept from running by the runtime, nobody knows what for
	network    bool // parked until there is something to read, or room to write
}

// reasonNetwork is the block reason of a goroutine that waits for the network
// (runtime/traceruntime.go, traceBlockNet).
const reasonNetwork = "network"

func newState(t gotrace.TrackSpan) state {
	s := state{
		start: t.Start, end: t.End, state: t.State,
		gcWait: t.GCWait, held: t.Held,
		network: t.State == stall.StateParked && t.Reason == reasonNetwork,
	}
	if s.held {
		s.state = stall.StateRunnable // it wants to run on
	}
	return s
}

func (s *state) span() stall.Span { return stall.Span{Start: s.start, End: s.end} }
