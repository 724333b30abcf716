package dotnet

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// tape records what is seen of one process.
type tape struct {
	add    func(recording.Record) // nil: nothing is recorded
	id     int
	target recording.Target // as it was told last
	unseen time.Duration    // as it was told last
	mark   stall.Instant    // as it was told last
}

// begin says which process it is.
func (t *tape) begin(ctx context.Context, p *process, env map[string]string, info dotnetipc.ProcessInfo) {
	if t.add == nil {
		return
	}
	t.target = recording.Target{
		ID: t.id, PID: p.id.PID, Name: p.summary.Service, Runtime: "dotnet",
		Facts: runtimeLine(p.configuration(ctx, env, info)), At: p.clock.Now(),
	}
	t.add(t.target)
}

// configuration finds out how the runtime of the process is configured.
func (p *process) configuration(ctx context.Context, env map[string]string, info dotnetipc.ProcessInfo) *configuration {
	c := &configuration{version: info.Version, arch: info.Arch, env: env}
	if p.id.PID == 0 {
		return c
	}
	threads, whole, err := threadsOf(p.proc, p.id.PID)
	if err == nil && !whole {
		err = errSomeThreads
	}
	if err != nil {
		p.log.Info("the runtime line of the process lacks what its threads tell", "error", err)
	} else {
		c.threads = threads
	}
	if c.config, err = p.proc.RuntimeConfig(ctx, p.id.PID); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Info("the runtime line of the process lacks what its runtimeconfig.json says", "error", err)
	}
	if name, ok := gcModule(ctx, p.proc, p.id.PID); ok {
		c.module = &name
	}
	return c
}

// factLatency is the fact that only collections tell.
const (
	factLatency = "latency mode"
	then        = ", then "
)

// latency says in which mode a collection found the process: one after the
// other, where the program changes it.
func (t *tape) latency(mode gc.Maybe[dotnetgc.PauseMode]) {
	m, known := mode.Get()
	if t.add == nil || !known {
		return
	}
	said, text := t.target.Facts[factLatency], m.String()
	if slices.Contains(strings.Split(said, then), text) {
		return
	}
	if said != unknown {
		text = said + then + text
	}
	t.learn(factLatency, text)
}

// factConcurrent is the fact that a background collection proves.
const factConcurrent = "concurrent"

func (t *tape) collection(c *gc.Collection) {
	if t.add == nil {
		return
	}
	if c.Kind == gc.Background && strings.HasPrefix(t.target.Facts[factConcurrent], unknown) {
		t.learn(factConcurrent, "on")
	}
	t.add(recording.Collection{Target: t.id, Collection: *c})
}

// learn tells of the process anew, with what has become known.
func (t *tape) learn(fact, value string) {
	t.target.Facts = maps.Clone(t.target.Facts)
	t.target.Facts[fact] = value
	t.add(t.target)
}

func (t tape) suspension(s *dotnetgc.Stop) {
	if t.add != nil {
		t.add(recording.Suspension{Target: t.id, Span: stall.Span{Start: s.Start(), End: s.RestartBegin}, EndMax: max(s.RestartBegin, s.RestartEnd), Reason: s.Reason.String()})
	}
}

// status says how far the process was seen. The last one repeats what was not
// seen up to the one before: what the end itself cuts off, a collection that goes
// on, or what a killed process did not hand over, is beyond what was watched.
func (t *tape) status(now, mark stall.Instant, lost uint64, unseen time.Duration, last bool) {
	if t.add == nil {
		return
	}
	if last {
		mark = max(t.mark, mark.Add(t.unseen-unseen))
	} else {
		t.unseen = unseen
	}
	t.mark = mark
	t.add(recording.Status{Source: stall.Dotnet.String(), Target: t.id, At: now, Watermark: mark, Dropped: lost, Unseen: t.unseen})
}
