package dotnet

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// end says the last word of the process.
func (p *process) end(ctx context.Context) {
	switch {
	case errors.Is(context.Cause(ctx), errDisplaced):
		p.summary.Why = errDisplaced.Error()
	case p.outside.why != "" && p.summary.Sessions == 0:
		p.summary.Why = "its collections were not watched: " + p.outside.why
	case p.failure != nil && !errors.Is(p.failure, context.Canceled) && p.summary.Sessions == 0:
		p.summary.Why = p.failure.Error()
	case ctx.Err() != nil:
		p.summary.Why = "told to end"
	default:
		p.summary.Why = "the process ended"
	}
	if p.output == nil {
		return
	}
	p.host.stop()
	p.lookAtThreads(p.clock.Now())
	p.tell(p.clock.Now(), true)
	p.sayEnd()
	if p.summary.Unexported = p.output.close(); p.summary.Unexported != nil {
		p.log.Warn("not all telemetry was exported", p.summary.Unexported.Facts()...)
	}
}

// sayEnd says what was seen of the process, in a line that is read at a glance:
// run --json has all of it.
func (p *process) sayEnd() {
	s := &p.summary
	facts := []any{
		"why", s.Why, "collections", s.Collections.Total, "paused", textfmt.Length(time.Duration(s.PauseTotal)),
		"pause_share", percent(s.PauseShare), "longest_pause", textfmt.Length(time.Duration(s.PauseMax)),
	}
	if s.Collections.Total > 0 {
		facts = append(facts, "kinds", sayCounts(s.Collections.Kinds))
	}
	if s.Allocations = p.allocations.summary(); s.Allocations != nil {
		facts = append(facts, "allocated_sampled", s.Allocations.String())
	}
	if slowed := s.Slowed.String(); slowed != "" {
		facts = append(facts, "slowed_by_the_machine", slowed)
	}
	if s.Detached > 0 {
		facts = append(facts, "detached", s.Detached, "detached_why", s.DetachedWhy)
	}
	if s.Lost > 0 {
		facts = append(facts, "runtime_events_lost", s.Lost)
	}
	if s.Unseen > 0 {
		facts = append(facts, "unseen", textfmt.Length(time.Duration(s.Unseen)))
	}
	p.log.Info("no longer watched", facts...)
}

// percent writes a share.
func percent(share gc.Maybe[float64]) string {
	if v, known := share.Get(); known {
		return strconv.FormatFloat(100*v, 'f', 3, 64) + "%"
	}
	return "n/a"
}
