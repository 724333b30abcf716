package otelgc

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// track is what one goroutine did in one generation.
type track struct {
	goroutine uint64
	states    []state
}

// state is a stretch of a goroutine in one state, with what the join wants to
// know of the reason: half of what the decoder says, as there are many.
type state struct {
	start, end stall.Instant
	state      stall.State
	gcWait     bool // parked until a phase of the collector is over
	network    bool // parked until there is something to read, or room to write
}

// reasonNetwork is the block reason of a goroutine that waits for the network
// (runtime/traceruntime.go, traceBlockNet).
const reasonNetwork = "network"

func newState(t *gotrace.TrackSpan) state {
	return state{
		start: t.Start, end: t.End, state: t.State,
		gcWait:  t.GCWait,
		network: t.State == stall.StateParked && t.Reason == reasonNetwork,
	}
}

func (s *state) span() stall.Span { return stall.Span{Start: s.start, End: s.end} }

func (s *state) stateSpan() stall.StateSpan {
	return stall.StateSpan{Start: s.start, End: s.end, State: s.state}
}
