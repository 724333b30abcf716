package demo

import (
	"context"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
)

type counter struct{ atomic.Uint64 }

func (c *counter) add(n uint64) { c.Add(n) }

const cyclesMetric = "/gc/cycles/total:gc-cycles"

// gcCycles returns how many cycles the runtime has completed.
func gcCycles() uint64 {
	sample := []metrics.Sample{{Name: cyclesMetric}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// tell hands on the collections and the other stops of the runtime that are new.
func (c *child) tell() {
	list, dropped := c.monitor.Collections(c.told)
	c.lost += dropped
	for i := range list {
		_ = c.out.Collection(&list[i])
		c.told = max(c.told, list[i].Index)
	}
	stops, dropped := c.monitor.Suspensions(c.toldStops)
	c.lost += dropped
	for i := range stops {
		_ = c.out.Suspension(&stops[i].Interval)
		c.toldStops = stops[i].Index
	}
}

// Bounds of the end of the service.
const (
	flushLimit  = 5 * time.Second
	settleLimit = 2 * time.Second
	settleEvery = 20 * time.Millisecond
)

// settle waits until every window is resolved and the collector is at rest, and
// reads the counts. A cycle that is still under way is in nobody's count, so
// the monitor and the runtime are read until they agree twice, or long enough.
func (c *child) settle(ctx context.Context, before uint64, start otelgc.Session) wire.Farewell {
	flush, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	var f wire.Farewell
	if err := c.monitor.Flush(flush); err != nil {
		f.Notes = append(f.Notes, "not every request was resolved in time: "+err.Error())
	}
	deadline := time.Now().Add(settleLimit)
	for agreed := 0; agreed < 2 && time.Now().Before(deadline); time.Sleep(settleEvery) {
		f.RuntimeCycles = gcCycles() - before
		session := c.monitor.Session().Sub(start)
		f.Collections = 0
		for _, n := range session.Cycles {
			f.Collections += n
		}
		f.PauseNanos = int64(session.PauseTotal)
		f.GCCPUNanos = int64(session.GCCPU)
		f.Allocated = uint64(session.AllocatedBytes)
		if f.Collections == f.RuntimeCycles {
			agreed++
		} else {
			agreed = 0
		}
	}
	c.tell()
	f.Lost = c.lost
	return f
}
