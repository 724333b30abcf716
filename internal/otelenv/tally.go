package otelenv

import (
	"context"
	"sync/atomic"
)

// tally counts what goes into a batching processor of the SDK and what comes
// out of it, since the processor itself drops without a word when its queue is
// full.
//
// While the processor runs, up to room records may be on their way, so a loss
// of that many is noticed late; it is never said of a record that still
// arrives. After the end the count is exact, and an export that is still under
// way has failed: it is about to be canceled.
type tally struct {
	room             uint64
	in, out          atomic.Uint64
	arrived, refused atomic.Uint64
	most             atomic.Uint64
	over             atomic.Bool
}

// failed returns how many records reached the exporter and not the Collector.
func (t *tally) failed() uint64 {
	if !t.over.Load() {
		return t.refused.Load()
	}
	arrived := t.arrived.Load()
	return t.out.Load() - arrived
}

// lost returns how many records never reached the exporter.
func (t *tally) lost() uint64 {
	room := t.room
	if t.over.Load() {
		room = 0
	}
	// In this order: what passes in between makes the difference smaller.
	in, out := t.in.Load(), t.out.Load()
	if in > out+room {
		raise(&t.most, in-out-room)
	}
	return t.most.Load()
}

func raise(v *atomic.Uint64, to uint64) {
	for {
		old := v.Load()
		if old >= to || v.CompareAndSwap(old, to) {
			return
		}
	}
}

// gate stands before an exporter: it counts what fails, and ends an export that
// is under way when the time for a shutdown is over.
type gate struct {
	tally tally
	stop  context.Context
}

func (g *gate) export(ctx context.Context, n int, export func(context.Context) error) error {
	g.tally.out.Add(uint64(n))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.stop, cancel)()
	err := export(ctx)
	if err != nil {
		g.tally.refused.Add(uint64(n))
	} else {
		g.tally.arrived.Add(uint64(n))
	}
	return err
}
