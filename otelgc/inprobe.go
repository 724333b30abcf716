package otelgc

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// inProbe is the probe inside the process that WithProbe asks for. Its gaps are
// events and metrics; the join takes none of them, since the exact source and
// the watcher know the same stops by their causes.
type inProbe struct {
	probe    *jitterprobe.Probe
	source   stall.Origin
	observed time.Duration
	dropped  uint64
}

func (m *Monitor) startProbe(mode jitterprobe.Mode) error {
	p, err := jitterprobe.Start(jitterprobe.Options{
		Mode: mode, Clock: m.clock,
		OnGap: func(g jitterprobe.Gap) { m.tel.Gap(g.Interval(), g.Evidence.String) },
	})
	if err != nil {
		return fmt.Errorf("start probe in process: %w", err)
	}
	m.inner.probe, m.inner.source = p, p.Mode().Source()
	return nil
}

// tell brings the probe's counters up to date.
func (p *inProbe) tell(m *Monitor) (jitterprobe.Snapshot, bool) {
	if p.probe == nil {
		return jitterprobe.Snapshot{}, false
	}
	s := p.probe.Snapshot()
	m.tel.Observed(p.source, s.Observed()-p.observed)
	m.tel.Dropped("gap", "ring_full", s.Dropped-p.dropped)
	m.tel.Coverage(p.source, s.Covered())
	p.observed, p.dropped = s.Observed(), s.Dropped
	return s, true
}
