package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// scopeName is the instrumentation scope of all that the sidecar exports.
const scopeName = "github.com/otelgc/otelgc/sidecar"

// statusEvery is the least time between two status events of a source: one a
// second, of ticks that come four times a second or ten, a little early or late.
const statusEvery = time.Second - 50*time.Millisecond

// export turns what the probes saw into telemetry.
type export struct {
	telemetry *telemetry.Telemetry
	clock     stall.Clock

	mu        sync.Mutex
	watch     *watch.Watch // nil until begin
	first     probing
	others    probing // the probes of the other CPUs, if they are of another source
	unwritten uint64
	status    stall.Instant // of the last one
}

// probing is one source of gaps, of one probe or several.
type probing struct {
	source   stall.Origin // none for no probe
	cpus     []int
	snapshot jitterprobe.Snapshot // the newest of which every gap was exported
	counted  jitterprobe.Snapshot // what the instruments have counted
}

func newExport(p *otelenv.Providers, clock stall.Clock, gapCPU bool) (*export, error) {
	boot, err := stall.BootID()
	if err != nil {
		boot = "" // a system without one: instants are good in this process only
	}
	t, err := telemetry.New(telemetry.Options{
		Meter: p.Meter.Meter(scopeName), Logger: p.Logger.Logger(scopeName),
		BootID: boot, PID: os.Getpid(), Clock: clock, GapCPU: gapCPU,
	})
	if err != nil {
		return nil, fmt.Errorf("make instruments: %w", err)
	}
	return &export{telemetry: t, clock: clock}, nil
}

// gap exports a gap. It may be called before begin.
func (x *export) gap(g jitterprobe.Gap) { x.telemetry.Gap(g.Interval, g.Evidence.String) }

// begin names the sources. From then on there are statuses of them.
func (x *export) begin(w *watch.Watch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.watch = w
	x.first.source = w.Probe().Mode().Source()
	if cpu := w.Probe().CPU(); cpu >= 0 {
		x.first.cpus = []int{cpu}
	}
	switch cpus, _ := w.Others(); {
	case len(cpus) == 0:
	case x.first.source == stall.ProbePeriodic:
		x.first.cpus = append(x.first.cpus, cpus...)
	default:
		x.others.source, x.others.cpus = stall.ProbePeriodic, cpus
	}
}

// settled takes snapshots of which every gap went through gap, and once a
// second exports how far the sources are.
func (x *export) settled(s jitterprobe.Snapshot, others []jitterprobe.Snapshot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.others.snapshot = jitterprobe.Snapshot{}
	for i := range others {
		x.others.snapshot.Merge(&others[i])
	}
	if x.first.source == stall.ProbePeriodic && x.others.snapshot.Observed() > 0 {
		s.Merge(&x.others.snapshot) // one source, whichever CPU it is on
	}
	if x.first.snapshot = s; x.watch == nil {
		return
	}
	if now := x.clock.Now(); now.Sub(x.status) >= statusEvery {
		x.report(now)
	}
}

func (x *export) report(now stall.Instant) {
	unwritten := x.watch.Unwritten()
	if n := unwritten - x.unwritten; n > 0 {
		x.telemetry.Dropped("gap", "board_failed", n)
	}
	sources := []*probing{&x.first, &x.others}
	for _, p := range sources {
		p.count(x.telemetry)
	}
	x.telemetry.Tick(now)
	for _, p := range sources {
		p.status(x, now)
	}
	x.unwritten, x.status = unwritten, now
}

// count adds to the instruments what is new since it was called last.
func (p *probing) count(t *telemetry.Telemetry) {
	if p.source == stall.NoOrigin {
		return
	}
	s, before := p.snapshot, p.counted
	t.Observed(p.source, s.Observed()-before.Observed())
	if n := s.Dropped - before.Dropped; n > 0 {
		t.Dropped("gap", "ring_full", n)
	}
	if n := s.Backward - before.Backward; n > 0 {
		t.Dropped("gap", "clock_backward", n)
	}
	t.Coverage(p.source, s.Covered())
	p.counted = s
}

// status exports how far the source is.
func (p *probing) status(x *export, now stall.Instant) {
	if p.source == stall.NoOrigin {
		return
	}
	s := &p.snapshot
	x.telemetry.Status(semconv.Status{
		Origin: p.source, Since: max(x.status, s.Start), At: now, Watermark: s.Watermark,
		Dropped: s.Dropped, DroppedTime: s.DroppedTime,
		Wall:       x.clock.Wall(),
		ProbedCPUs: p.cpus,
	})
}

// close reports the last status, when the watch has ended.
func (x *export) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.watch != nil {
		x.report(x.clock.Now())
	}
	return x.telemetry.Close()
}
