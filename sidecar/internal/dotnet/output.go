package dotnet

import (
	"context"
	"errors"
	"fmt"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// scopeName is the instrumentation scope of what is exported for a process.
const scopeName = "github.com/otelgc/otelgc/sidecar/dotnet"

// output exports the telemetry of one process.
type output struct {
	telemetry *telemetry.Telemetry
	providers *otelenv.Providers
	pid       int
}

// open makes the providers of the process before its first session.
func (p *process) open(ctx context.Context, info dotnetipc.ProcessInfo) error {
	if p.output != nil {
		return nil
	}
	var env map[string]string
	if p.id.PID != 0 {
		var err error
		if env, err = p.proc.Environment(ctx, p.id.PID); err != nil {
			p.log.Info("the environment of the process is not readable: its service.name is a guess", "error", err)
		}
	}
	if inner, err := p.proc.InnerPID(p.id.PID); p.id.PID != 0 && err == nil && info.PID != uint64(inner) {
		p.log.Warn("the process says that it has another number than the kernel says", "says", info.PID, "kernel", inner)
		info.PID = uint64(inner)
	}
	p.summary.Service, p.summary.CommandLine, p.summary.Runtime = serviceName(env, info), info.CommandLine, info.Version
	boot, err := stall.BootID()
	if err != nil {
		boot = ""
	}
	resource, refused := resourceOf(p.id, boot, containerAttributes(p.proc, p.id), env, info)
	p.sayClaims(env, refused)
	providers, err := otelenv.Start(ctx, otelenv.Options{Other: resource, LogQueue: logQueue, UniqueKeys: true})
	if err != nil {
		return fmt.Errorf("start export for process %d: %w", p.id.PID, err)
	}
	t, err := telemetry.New(telemetry.Options{
		Meter: providers.Meter.Meter(scopeName), Logger: providers.Logger.Logger(scopeName),
		BootID: boot, PID: int(info.PID), DotnetMetrics: true, Clock: p.clock,
	})
	if err != nil {
		providers.Discard()
		return fmt.Errorf("make instruments for process %d: %w", p.id.PID, err)
	}
	p.output = &output{t, providers, p.id.PID}
	p.watchHost(p.followed)
	p.tape.begin(ctx, p, env, info)
	return nil
}

func (o *output) collection(c *gc.Collection) { o.telemetry.Collection(c) }

func (o *output) suspension(s *dotnetgc.Stop) {
	o.telemetry.Suspension(s.Interval(), s.Reason.String(), "", stall.Exact)
}

// orphan holds a stop for a collection that was not seen: events were lost, or
// the collector stopped the world for something else. No collection is counted.
func orphan(s *dotnetgc.Stop) *gc.Collection {
	return &gc.Collection{
		Pauses:     []gc.Pause{{Start: s.Start(), End: s.RestartBegin, EndMax: max(s.RestartBegin, s.RestartEnd)}},
		Incomplete: whyOrphan(s.Reason),
		Origin:     stall.Dotnet, Fidelity: stall.Exact,
	}
}

func whyOrphan(r dotnetgc.SuspendReason) string {
	if r == dotnetgc.ForGCPrep {
		return "no collection was seen to run: it began before the session, or the collector changed its number of heaps"
	}
	return "no collection was seen to begin in it: events were lost, or the collector made none, as where a no-GC region begins"
}

func (o *output) lost(n uint64) { o.telemetry.Dropped("dotnet_event", "buffer_full", n) }

// overLimit counts what a stream had too many of: records of the model, threads
// whose numbers of events were forgotten, sessions that took more than their share.
func (o *output) overLimit(item string, n uint64) { o.telemetry.Dropped(item, "limit", n) }

const (
	itemRecord  = "dotnet_record"
	itemThread  = "dotnet_thread"
	itemSession = "dotnet_session"
)

func (o *output) status(since, now, mark stall.Instant, unseen []stall.Span, covered float64, s *Summary) {
	o.telemetry.Coverage(stall.Dotnet, covered)
	if share, known := s.paused(); known {
		o.telemetry.PauseUtilization("attach", share)
	}
	o.telemetry.Tick(now)
	o.telemetry.Status(semconv.Status{
		Origin: stall.Dotnet, Since: since, At: now, Watermark: mark, Unseen: unseen,
		Dropped: s.Lost, TargetPID: o.pid,
	})
}

// close exports what is held, and returns what did not get out, nil for nothing. The
// observed metrics go first: their callbacks do not outlive the telemetry.
func (o *output) close() *otelenv.Unexported {
	ctx, cancel := context.WithTimeout(context.Background(), stopFor)
	defer cancel()
	early, done := context.WithTimeout(ctx, stopFor/2)
	defer done()
	flushed := o.providers.Meter.ForceFlush(early)
	err := otelenv.Join(flushed, o.telemetry.Close(), o.providers.Shutdown(ctx))
	if errors.Is(err, context.Canceled) {
		err = nil // it was told to end at once
	}
	return o.providers.Unexported(err)
}
