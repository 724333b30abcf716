// Package spin is the loop of a probe: it reads the CPU's counter, and writes into a
// queue when it was kept from doing so.
//
// The counter is RDTSC on amd64 (Intel SDM volume 3, 19.17) and CNTVCT_EL0 on arm64 (Arm
// ARM D12.1); there is none elsewhere or with the build tag noasm. The kernel says
// whether it can be trusted ([Usable]); that is not measured here. A [Timeline] relates it
// to the shared clock.
//
// A [Thread] runs the loop on a thread that the Go runtime does not know: it comes from
// clone(2) with all signals blocked, and runs nothing but assembly. It has no goroutine
// and no P, so stop-the-world neither waits for it nor stops it, no SIGURG hits it, and
// it sees what the machine does to its CPU and nothing else.
//
// [Syscall] and [Sleep] run in the state that a goroutine has during a system call. The
// Go runtime then believes the thread to be in the kernel: a stop-the-world takes its P
// and does not wait for it, and it is not signalled. What the runtime does to the goroutine
// happens in exitsyscall: it waits there for the world to start again, and for a P. A
// loop of assembly in the ordinary state would hang the garbage collector, and even one
// that yields makes each stop-the-world of its service longer. They stand on
// runtime.entersyscall, runtime.entersyscallblock and runtime.exitsyscall, which the
// runtime keeps linkable for gVisor (see proc.go).
//
// A [Ring] is the queue between the loop and the goroutine that drains it: one producer,
// one consumer, no lock, no waiting. What finds no room is counted, not kept.
//
// On linux/arm64 the code has run under an emulator, not on hardware: the counter was the
// emulator's, and the memory order that of the machine under it.
package spin

import "sync/atomic"

// Door marks, in Record.From, a gap across the way out of the Go runtime or
// back into it.
// No counter reaches this bit: at 5 GHz it takes 58 years.
const Door = 1 << 63

// Record is a gap in counter ticks: the last read before it, the first after.
type Record struct {
	From, To uint64
}

// Control is what producer and consumer share. Each line of 64 bytes has one
// writer, so that neither slows the other down. The assembly
// knows the offsets and holds the compiler to them.
type Control struct {
	// Written before the start, read by the producer. Stop by the consumer.
	Go        uint64
	Stop      uint64 // 1: end; 2: stall once, and clear it
	Threshold uint64 // ticks from which on a gap is recorded
	Mask      uint64 // number of records - 1
	Records   uint64 // address of record 0, for assembly
	First     uint64 // the counter at the first iteration; written once, by the producer
	_         [2]uint64

	// Written by the producer, in this order: record, Head, Iters, Last.
	Head      uint64 // records ever pushed
	Iters     uint64 // iterations ever done
	Last      uint64 // the counter when Head was last brought up to date: all before it is in the ring
	Whole     uint64 // blocks of iterations without a gap
	WholeTime uint64 // their sum, ticks; of wake-ups, the lateness that was no gap, ns
	Drops     uint64 // gaps that found the ring full
	DropTicks uint64 // their sum
	DropMax   uint64 // the longest of them

	// Written by the consumer.
	Tail uint64 // records ever taken
	// Of a stall that a test asks for: when the thread began and ended it by
	// CLOCK_MONOTONIC, written by the thread, and how long it is to sleep; each
	// seconds and nanoseconds.
	Stamps [2][2]int64
	Sleep  [2]int64
	_      uint64

	// Cleared by the kernel when the raw thread is gone.
	Tid uint32
	_   [15]uint32
}

// Ring is a Control with its records.
type Ring struct {
	*Control
	records []Record
}

// NewRing makes a ring over c and records, whose number is a power of two.
func NewRing(c *Control, records []Record) Ring {
	c.Mask = uint64(len(records) - 1)
	return Ring{c, records}
}

// Push adds r, or counts it as dropped when the ring is full. Producer only.
func (r Ring) Push(rec Record) {
	head := atomic.LoadUint64(&r.Head)
	if head-atomic.LoadUint64(&r.Tail) > r.Mask {
		ticks := rec.To - rec.From&^Door
		atomic.StoreUint64(&r.DropTicks, r.DropTicks+ticks)
		atomic.StoreUint64(&r.DropMax, max(r.DropMax, ticks))
		atomic.StoreUint64(&r.Drops, r.Drops+1)
		return
	}
	r.records[head&r.Mask] = rec
	atomic.StoreUint64(&r.Head, head+1)
}

// Pulse is the state of the producer at one moment.
type Pulse struct {
	First, Last, Iters        uint64
	Whole, WholeTime          uint64
	Drops, DropTicks, DropMax uint64
	Head                      uint64
}

// Pulse reads the producer's state. Last is read before Head: every gap that
// ended before Last is below Head.
func (r Ring) Pulse() Pulse {
	p := Pulse{Last: atomic.LoadUint64(&r.Last)}
	p.Head = atomic.LoadUint64(&r.Head)
	p.Iters = atomic.LoadUint64(&r.Iters)
	p.First = atomic.LoadUint64(&r.First)
	p.Drops = atomic.LoadUint64(&r.Drops)
	p.DropTicks = atomic.LoadUint64(&r.DropTicks)
	p.DropMax = atomic.LoadUint64(&r.DropMax)
	p.Whole, p.WholeTime = atomic.LoadUint64(&r.Whole), atomic.LoadUint64(&r.WholeTime)
	return p
}

// Drain hands every record below head to f, oldest first, and frees it.
// Consumer only.
func (r Ring) Drain(head uint64, f func(Record)) {
	tail := atomic.LoadUint64(&r.Tail)
	for ; tail < head; tail++ {
		f(r.records[tail&r.Mask])
	}
	atomic.StoreUint64(&r.Tail, tail)
}
