package harness

import (
	"errors"
	"slices"
	"sync"

	"github.com/otelgc/otelgc/jitterprobe"
)

// Probe calls f while a probe runs, which has its CPU for itself if it spins, and
// returns what the probe saw.
func Probe(o jitterprobe.Options, f func(*jitterprobe.Probe) error) (gaps []jitterprobe.Gap, s jitterprobe.Summary, err error) {
	p, err := jitterprobe.Start(o)
	if err != nil {
		return nil, s, err
	}
	var read sync.WaitGroup
	read.Go(func() { gaps = slices.AppendSeq(gaps, p.All()) })
	var restore func() error
	if p.Mode() == jitterprobe.Spin {
		restore, err = jitterprobe.Reserve(p.CPU())
	}
	if err == nil {
		err = f(p)
	}
	s = p.Stop()
	read.Wait()
	if restore != nil {
		err = errors.Join(err, restore())
	}
	return gaps, s, err
}
