// Package follow tells the services of this host, on the board, what the machine
// does to the threads of one process, and when nobody can tell. What counts as
// done by the machine is decided by internal/hostwatch.
package follow

import (
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// Options say whom to follow, and whom to tell. PID and Board must be set.
type Options struct {
	PID   int
	Clock stall.Clock
	Board *watch.Watch
	// CountersOnly leaves the threads alone even where they may be followed.
	CountersOnly bool
	// OnBatch is called with what was told, before the board has it, as
	// hostwatch.Options say. It may be nil.
	OnBatch func(owner stall.Owner, b *hostwatch.Batch)
}

// Process is one that is followed.
type Process struct {
	*hostwatch.Watch
	o       Options
	owner   stall.Owner
	records []stall.Interval // scratch, of the goroutine that watches
}

// Start follows a process until Stop, or until it ends. That its threads cannot
// be followed, but only counted, is no error: see hostwatch.Watch.Exact.
func Start(o Options) (*Process, error) {
	p := &Process{o: o}
	ready := make(chan struct{}) // the owner is known when the watch is
	w, err := hostwatch.Start(hostwatch.Options{PID: o.PID, Clock: o.Clock, CountersOnly: o.CountersOnly, OnBatch: func(b *hostwatch.Batch) {
		<-ready
		p.batch(b)
	}})
	if err != nil {
		return nil, err
	}
	p.Watch, p.owner = w, w.Owner()
	close(ready)
	return p, nil
}

func (p *Process) batch(b *hostwatch.Batch) {
	if p.o.OnBatch != nil {
		p.o.OnBatch(p.owner, b)
	}
	p.records = append(p.records[:0], b.Denied...)
	for _, s := range b.Covered {
		p.records = append(p.records, p.watched(s))
	}
	// An empty one at the end: the watch is there, and sure of nothing.
	p.records = append(p.records, p.watched(stall.Span{Start: b.Span.End, End: b.Span.End}))
	p.o.Board.Append(p.records)
}

// watched says on the board that the process was watched in s.
func (p *Process) watched(s stall.Span) stall.Interval {
	return stall.Interval{
		Start: s.Start, End: s.End, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: p.owner,
	}
}
