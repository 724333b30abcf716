// Package follow tells the services of this host, on the board, what the machine
// does to the threads of one process, and when nobody can tell. What counts as
// done by the machine is decided by internal/hostwatch.
package follow

import (
	"context"

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
	// OnBatch is called with what was seen, before the board has it, by one goroutine.
	// It must not keep b, and not call Stop. It may be nil.
	OnBatch func(owner stall.Owner, b *hostwatch.Observations)
}

// Process is one that is followed.
type Process struct {
	*hostwatch.Watch
	o       Options
	read    chan struct{}    // closed when all was reported
	records []stall.Interval // scratch
}

// Start follows a process until Stop, or until it ends. That its threads cannot
// be followed, but only counted, is no error: see hostwatch.Watch.Exact.
func Start(o Options) (*Process, error) {
	w, err := hostwatch.New(hostwatch.Options{PID: o.PID, Clock: o.Clock, CountersOnly: o.CountersOnly})
	if err != nil {
		return nil, err
	}
	p := &Process{Watch: w, o: o, read: make(chan struct{})}
	go func() {
		defer close(p.read)
		for {
			if _, err := w.Next(context.Background()); err != nil {
				return // io.EOF
			}
			p.report(w.Observations())
		}
	}()
	return p, nil
}

// Stop ends the watch. When it returns all was reported. The error is
// hostwatch.ErrTarget if the process ended before.
func (p *Process) Stop() error {
	err := p.Close()
	<-p.read
	return err
}

func (p *Process) report(b *hostwatch.Observations) {
	if p.o.OnBatch != nil {
		p.o.OnBatch(p.Owner(), b)
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
		Start: s.Start, End: s.End, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: p.Owner(),
	}
}
