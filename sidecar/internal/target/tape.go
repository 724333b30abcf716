package target

import (
	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// tape records what is seen of one process.
type tape struct {
	add func(recording.Record) // nil: nothing is recorded
	id  int
}

// begin says which process it is.
func (t tape) begin(p *process, env map[string]string) {
	if t.add == nil {
		return
	}
	var threads []thread
	if p.id.PID != 0 {
		var err error
		if threads, err = threadsOf(p.proc, p.id.PID); err != nil {
			p.log.Info("the runtime line of the process lacks what its threads tell", "error", err)
		}
	}
	t.add(recording.Target{
		ID: t.id, PID: p.id.PID, Name: p.summary.Service, Runtime: "dotnet",
		Facts: runtimeLine(p.summary.Runtime, env, threads), At: p.clock.Now(),
	})
}

func (t tape) collection(c *gc.Collection) {
	if t.add != nil {
		t.add(recording.Collection{Target: t.id, GC: *c})
	}
}

func (t tape) suspension(s *dotnetgc.Stop) {
	if t.add != nil {
		t.add(recording.Suspension{Target: t.id, Start: s.Start(), End: s.RestartBegin, Reason: s.Reason.String()})
	}
}

func (t tape) status(now, mark stall.Instant, lost uint64) {
	if t.add != nil {
		t.add(recording.Status{Source: stall.Dotnet.String(), Target: t.id, At: now, Watermark: mark, Dropped: lost})
	}
}
