package demo

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
)

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
		c.slowed.Add(&list[i])
		c.told = max(c.told, list[i].Index)
	}
	stops, dropped := c.monitor.Suspensions(c.toldStops)
	c.lost += dropped
	for i := range stops {
		_ = c.out.Suspension(&stops[i].Interval)
		c.toldStops = stops[i].Index
	}
}

// The end of the service: how long it may take, and the time between two looks.
const (
	settleLimit = 6 * time.Second
	settleEvery = 20 * time.Millisecond
)

// settle waits until every window is resolved and the collector is at rest, and
// reads the counts. A collection becomes known up to three seconds after its end,
// so the runtime is asked first, and then the monitor for all that has ended by
// then.
func (c *child) settle(ctx context.Context, before uint64, start otelgc.Session) wire.Farewell {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	var f wire.Farewell
	err := c.monitor.Flush(ctx)
	if err != nil {
		f.Notes = append(f.Notes, "not every request was resolved in time: "+err.Error())
	} else {
		// Of what would be traced now nothing is wanted, and to decode it would keep
		// the collector from coming to rest.
		_, err = c.monitor.PauseExact(ctx)
	}
	for ; ; time.Sleep(settleEvery) {
		f.RuntimeCycles = gcCycles() - before
		if err == nil {
			err = c.monitor.Flush(ctx)
		}
		session := c.monitor.Session().Sub(start)
		f.Collections = 0
		for _, n := range session.Cycles {
			f.Collections += n
		}
		f.PauseNanos = int64(session.PauseTotal)
		if f.Collections == f.RuntimeCycles || err != nil {
			break
		}
	}
	c.tell()
	f.Lost, f.Slowed = c.lost, c.slowed
	return f
}
