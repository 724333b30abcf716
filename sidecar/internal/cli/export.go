package cli

import (
	"fmt"
	"os"
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

// export turns what the probes saw into telemetry. It belongs to the reader of the
// watch.
type export struct {
	telemetry *telemetry.Telemetry
	clock     stall.Clock
	counted   map[stall.Origin]jitterprobe.Snapshot // what the instruments have counted
	unwritten uint64
	status    stall.Instant // of the last one
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
	return &export{telemetry: t, clock: clock, counted: map[stall.Origin]jitterprobe.Snapshot{}}, nil
}

// report exports how far the sources are, and counts what is new since it was called
// last.
func (x *export) report(w *watch.Watch, now stall.Instant) {
	dropped := func(reason string, n uint64) {
		if n > 0 {
			x.telemetry.Dropped("gap", reason, n)
		}
	}
	unwritten := w.Unwritten()
	dropped("board_failed", unwritten-x.unwritten)
	seen := w.Seen()
	for i := range seen {
		s := &seen[i]
		before := x.counted[s.Origin]
		x.telemetry.Observed(s.Origin, s.Observed()-before.Observed())
		dropped("ring_full", s.Dropped-before.Dropped)
		dropped("clock_backward", s.Backward-before.Backward)
		x.telemetry.Coverage(s.Origin, s.Covered())
		x.counted[s.Origin] = s.Snapshot
	}
	x.telemetry.Tick(now)
	for i := range seen {
		s := &seen[i]
		x.telemetry.Status(semconv.Status{
			Origin: s.Origin, Since: max(x.status, s.Start), At: now, Watermark: s.Watermark,
			Dropped: s.Dropped, DroppedTime: s.DroppedTime, Wall: x.clock.Wall(), ProbedCPUs: s.CPUs,
		})
	}
	x.unwritten, x.status = unwritten, now
}
