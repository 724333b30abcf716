// Package kernel says what the kernel did to one thread, and on the CPU it runs
// on, as spans of time: when the thread was switched out, when it had a page
// fault, when the CPU served interrupts. The kernel writes its records into
// rings while it happens; they are taken out in batches.
//
// It never says that nothing happened where records were lost: an [Account]
// reports whether it is complete. It names no cause either: package jitterprobe
// classifies a gap. The fields of the tracepoints are those of the
// kernel's include/trace/events.
package kernel

import (
	"errors"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// ring is what a View reads.
type ring interface {
	Read(func(*perf.Record)) (missing bool)
	Close() error
}

// View holds the kernel's records of a thread and of its CPU. It is for one
// goroutine. The zero View has none.
type View struct {
	clock  stall.Clock
	thread thread
	cpu    cpu
	ofTid  ring // nil if it could not be opened
	ofCPU  ring
	parts  []span // of one account
}

// Rights says what could not be opened, and why.
type Rights struct {
	Thread error // switches and faults of the thread
	// Interrupts of the CPU, and the names of other threads on it, need both.
	Tracefs error // the numbers of the tracepoints
	CPU     error // the tracepoints
}

// Read takes in what is new in the rings: all that happened before the call.
func (v *View) Read() {
	if v.ofTid != nil && v.ofTid.Read(v.thread.take) {
		v.thread.lose(v.thread.last, v.clock.Now())
	}
	v.followHome()
	if v.ofCPU != nil && v.ofCPU.Read(v.cpu.take) {
		v.cpu.lose(v.cpu.last, v.clock.Now())
	}
}

// followHome makes the records of the CPU count for nothing while the thread is
// on another.
func (v *View) followHome() {
	for _, s := range v.thread.away {
		v.cpu.lose(s.Start, s.End)
	}
	v.thread.away = v.thread.away[:0]
	if v.thread.moved != 0 {
		v.cpu.lose(v.thread.moved, v.clock.Now())
	}
}

// Forget drops what ended before t.
func (v *View) Forget(t stall.Instant) {
	v.thread.forget(t)
	v.cpu.forget(t)
}

// Close closes the rings.
func (v *View) Close() error {
	var err error
	if v.ofTid != nil {
		err = v.ofTid.Close()
	}
	if v.ofCPU != nil {
		err = errors.Join(err, v.ofCPU.Close())
	}
	v.ofTid, v.ofCPU = nil, nil
	return err
}
