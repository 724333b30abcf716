package watch

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// beside are the probes of the other CPUs.
type beside struct {
	probes  []*jitterprobe.Probe
	cpus    []int
	told    []atomic.Uint64 // gaps that were through OnGap, by probe
	machine machine         // guarded by Watch.mu
	all     bool            // every CPU that is online has a probe
	each    []jitterprobe.Snapshot
	merged  jitterprobe.Snapshot // of each
}

// startBeside starts a probe on each CPU that the first one is not on.
func (w *Watch) startBeside(o Options, ready <-chan struct{}) error {
	b := &w.beside
	for _, cpu := range o.Beside {
		if cpu != w.probe.CPU() {
			b.cpus = append(b.cpus, cpu)
		}
	}
	b.told = make([]atomic.Uint64, len(b.cpus))
	b.machine = newMachine(w.probe.Mode().Source(), 1+len(b.cpus))
	for i, cpu := range b.cpus {
		p, err := o.StartBeside(cpu, func(g jitterprobe.Gap) {
			<-ready
			w.gap(1+i, g)
			b.told[i].Add(1)
		})
		if err != nil {
			return fmt.Errorf("watch CPU %d: %w", cpu, err)
		}
		b.probes = append(b.probes, p)
	}
	b.all = coversAll(append(w.pinned(), b.cpus...))
	return nil
}

// stopProbes stops all probes, and returns what the first has seen.
func (w *Watch) stopProbes() jitterprobe.Summary {
	for _, p := range w.beside.probes {
		p.Stop()
	}
	return w.probe.Stop()
}

// pinned returns the CPU of the first probe, if it has one.
func (w *Watch) pinned() []int {
	if cpu := w.probe.CPU(); cpu >= 0 {
		return []int{cpu}
	}
	return nil
}

const onlinePath = "/sys/devices/system/cpu/online"

// coversAll reports whether cpus are all that are online.
func coversAll(cpus []int) bool {
	text, err := os.ReadFile(onlinePath)
	if err != nil {
		return false
	}
	online, err := jitterprobe.ParseCPUs(string(text))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(online, func(cpu int) bool { return !slices.Contains(cpus, cpu) })
}

// look takes the snapshots of the probes beside together. It reports false if
// not all their gaps have been told.
func (b *beside) look() bool {
	var sum jitterprobe.Snapshot
	b.each = b.each[:0]
	for i, p := range b.probes {
		s := p.Snapshot()
		if b.told[i].Load() < s.Gaps {
			return false
		}
		b.each = append(b.each, s)
		sum.Merge(&s)
	}
	b.merged = sum
	return true
}

// watermark returns how far all have seen, if s is of the first probe.
func (b *beside) watermark(s stall.Instant) stall.Instant {
	if len(b.probes) == 0 {
		return s
	}
	return min(s, b.merged.Watermark)
}
