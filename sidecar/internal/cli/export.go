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

// export turns what the probe saw into telemetry.
type export struct {
	telemetry *telemetry.Telemetry
	clock     stall.Clock

	mu        sync.Mutex
	watch     *watch.Watch // nil until begin
	first     probing
	beside    probing // of the probes of the other CPUs; none without a source
	unwritten uint64
	status    stall.Instant // when the last one went out
}

// probing is one source of gaps.
type probing struct {
	source   stall.Origin
	cpus     []int
	snapshot jitterprobe.Snapshot // the newest of which every gap was told
	told     jitterprobe.Snapshot // what the instruments know of
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

// gap records a gap. It is called before begin, too.
func (x *export) gap(g jitterprobe.Gap) { x.telemetry.Gap(g.Interval(), g.Evidence.String) }

// begin names the source, from when on there are statuses of it.
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
		x.beside.source, x.beside.cpus = stall.ProbePeriodic, cpus
	}
}

// settled takes snapshots of which every gap went through gap, and once a
// second says how far the sources are.
func (x *export) settled(s jitterprobe.Snapshot, others []jitterprobe.Snapshot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.beside.snapshot = jitterprobe.Snapshot{}
	for i := range others {
		x.beside.snapshot.Merge(&others[i])
	}
	if x.first.source == stall.ProbePeriodic && x.beside.snapshot.Observed() > 0 {
		s.Merge(&x.beside.snapshot) // one source, whichever CPU it is on
	}
	if x.first.snapshot = s; x.watch == nil {
		return
	}
	if now := x.clock.Now(); now.Sub(x.status) >= statusEvery {
		x.tell(now)
	}
}

func (x *export) tell(now stall.Instant) {
	unwritten := x.watch.Unwritten()
	if n := unwritten - x.unwritten; n > 0 {
		x.telemetry.Dropped("gap", "board_failed", n)
	}
	sources := []*probing{&x.first, &x.beside}
	for _, p := range sources {
		p.count(x.telemetry)
	}
	x.telemetry.Tick(now)
	for _, p := range sources {
		p.status(x, now)
	}
	x.unwritten, x.status = unwritten, now
}

// count brings the instruments up to date.
func (p *probing) count(t *telemetry.Telemetry) {
	if p.source == stall.NoOrigin {
		return
	}
	s, before := p.snapshot, p.told
	t.Observed(p.source, s.Observed()-before.Observed())
	if n := s.Dropped - before.Dropped; n > 0 {
		t.Dropped("gap", "ring_full", n)
	}
	if n := s.Backward - before.Backward; n > 0 {
		t.Dropped("gap", "clock_backward", n)
	}
	t.Coverage(p.source, s.Covered())
	p.told = s
}

// status says how far the source is.
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

// close says the last word. The watch has ended.
func (x *export) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.watch != nil {
		x.tell(x.clock.Now())
	}
	return x.telemetry.Close()
}
