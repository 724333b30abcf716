package dotnet

import (
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// A process in a time namespace of its own reads CLOCK_MONOTONIC with an offset
// (time_namespaces(7)). What it says is put on the shared clock here.

func shiftInstant(t *stall.Instant, by time.Duration) {
	if *t != 0 { // zero is not known
		*t = t.Add(by)
	}
}

func shiftMaybe(m *gc.Maybe[stall.Instant], by time.Duration) {
	if t, known := m.Get(); known {
		*m = gc.Known(t.Add(by))
	}
}

func shiftCollection(c *gc.Collection, by time.Duration) {
	if by == 0 {
		return
	}
	shiftMaybe(&c.Start, by)
	shiftMaybe(&c.End, by)
	shiftMaybe(&c.UtilizationSince, by)
	for i := range c.Pauses {
		p := &c.Pauses[i]
		shiftInstant(&p.Start, by)
		shiftInstant(&p.End, by)
		shiftInstant(&p.EndMax, by)
	}
}

func shiftStop(s *dotnetgc.Stop, by time.Duration) {
	for _, t := range []*stall.Instant{&s.Begin, &s.Suspended, &s.RestartBegin, &s.RestartEnd, &s.Resumed, &s.Blocked} {
		shiftInstant(t, by)
	}
}
