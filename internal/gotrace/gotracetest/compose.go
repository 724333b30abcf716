package gotracetest

import (
	"encoding/binary"
	"math"
)

// Compose makes a trace of a short list of operations, three bytes each: what
// happens, to whom, and how often or how much. Its threads, goroutines and
// sequence numbers agree with one another, unless an operation breaks them, so a
// fuzzer that changes operations reaches states that one that changes the bytes of
// a trace does not. Every list of operations is a trace.
func Compose(ops []byte) []byte {
	c := composer{version: 26}
	if len(ops) > 0 {
		c.version = [...]int{26, 25, 23, 22}[ops[0]%4]
		ops = ops[1:]
	}
	c.out = append(c.out, "go 1."...)
	c.out = append(c.out, byte('0'+c.version/10), byte('0'+c.version%10))
	c.out = append(c.out, " trace\x00\x00\x00"...)
	c.begin()
	for len(ops) >= 3 && len(c.out) < maxComposed {
		for range times(ops[0], ops[2]) {
			c.do(ops[0]&0x3f, ops[1], ops[2])
			if len(c.batch) > 48<<10 || len(c.out) > maxComposed {
				c.flush()
			}
		}
		ops = ops[3:]
	}
	c.end()
	return c.out
}

const (
	maxComposed = 1 << 18 // bytes
	goroutines  = 1 << 6
	threadCount = 8
	noThread    = math.MaxUint64 // the tracer itself
	second      = 1e9            // a generation begins with each
)

// times returns how often an operation is done: once, or, by its upper bits, as often
// as its last byte says, up to some thousands.
func times(op, n byte) int {
	switch op >> 6 {
	case 2:
		return int(n) + 1
	case 3:
		return 16 * (int(n) + 1)
	}
	return 1
}

// The events of a thread, by their place on the wire.
const (
	procsChange = 9 + iota
	procStart
	procStop
	procSteal
	procStatus
	goCreate
	goCreateSyscall
	goStart
	goDestroy
	goDestroySyscall
	goStop
	goBlock
	goUnblock
	goSyscallBegin
	goSyscallEnd
	goSyscallEndBlocked
	goStatus
	stwBegin
	stwEnd
	gcActive
	gcBegin
	gcEnd
	sweepActive
	sweepBegin
	sweepEnd
	assistActive
	assistBegin
	assistEnd
	heapAlloc
	heapGoal
	goLabel
	userTaskBegin
	userTaskEnd
	userLog         = 44
	goSwitch        = 45
	goSwitchDestroy = 46
	goCreateBlocked = 47
)

// composedStrings are the strings 1 and up of each generation.
var composedStrings = []string{
	"GC sweep termination", "GC mark termination", "GC (dedicated)", "GC (idle)", "sync", "wait until GC ends",
	"chan receive", MarkPrefix + "1", MarkPrefix + "2+", MarkPrefix + "3-", MarkPrefix + "4.",
	"otelgc.b.0", "otelgc.j.0", "otelgc.l.0", "otelgc.b.1", "runtime.gcStart", // marks of windows, see gotrace.WindowMark
}

type composer struct {
	version    int
	out, batch []byte
	generation uint64
	thread     uint64
	running    [threadCount]uint64 // goroutine of each thread
	seq        [goroutines]uint64
	cycle      uint64
	distinct   uint64 // ids that were used once
}

func (c *composer) begin() {
	c.generation++
	c.seq = [goroutines]uint64{}
	frequency := binary.AppendUvarint([]byte{8}, 1e9)
	if c.version >= 25 {
		frequency = append([]byte{50}, frequency...)
		frequency = append(frequency, 51)
		for _, v := range []uint64{0, 0, 0, 0} {
			frequency = binary.AppendUvarint(frequency, v+c.generation*second)
		}
	}
	c.put(noThread, frequency)
}

// end ends the generation, and says what its strings and stacks are.
func (c *composer) end() {
	c.flush()
	table := []byte{4}
	for i, s := range composedStrings {
		table = append(append(table, 5, byte(i+1), byte(len(s))), s...)
	}
	c.put(noThread, table)
	c.put(noThread, []byte{2, 3, 1, 2, 1, 1, 1, 1, 2, 16, 16, 2, 3, 2, 0})
	if c.version >= 26 {
		c.out = append(c.out, 52)
	}
}

// put writes a batch.
func (c *composer) put(thread uint64, data []byte) {
	c.out = append(c.out, 1)
	for _, v := range []uint64{c.generation, thread, c.generation * second, uint64(len(data))} {
		c.out = binary.AppendUvarint(c.out, v)
	}
	c.out = append(c.out, data...)
}

func (c *composer) flush() {
	if len(c.batch) > 0 {
		c.put(c.thread, c.batch)
		c.batch = c.batch[:0]
	}
}

func (c *composer) event(typ byte, args ...uint64) {
	c.batch = append(c.batch, typ, 10) // ticks after the one before
	for _, v := range args {
		c.batch = binary.AppendUvarint(c.batch, v)
	}
}

// next is the next sequence number of a goroutine.
func (c *composer) next(g uint64) uint64 {
	c.seq[g%goroutines]++
	return c.seq[g%goroutines]
}

// do does one operation to goroutine or thread a; b is what is left of it.
func (c *composer) do(op, a, b byte) {
	g, on := uint64(a%goroutines), &c.running[c.thread%threadCount]
	switch op {
	case 0:
		c.flush()
		c.thread = uint64(a % threadCount)
	case 1:
		c.event(goCreate, g, uint64(b%4), 0)
	case 2:
		c.event(goCreateBlocked, g, uint64(b%4), 0)
	case 3:
		c.event(goStart, g, c.next(g))
		*on = g
	case 4:
		c.event(goStop, uint64(b%16), 0)
		*on = 0
	case 5:
		c.event(goBlock, uint64(b%16), uint64(a%4))
		*on = 0
	case 6:
		c.event(goUnblock, g, c.next(g), 0)
	case 7:
		c.event(goSyscallBegin, 1, 0)
	case 8:
		c.event(goSyscallEnd)
	case 9:
		c.event(goSyscallEndBlocked)
	case 10:
		c.event(goDestroy)
		*on = 0
	case 11:
		c.event(goStatus, g, uint64(b%threadCount), uint64(a>>6))
	case 12:
		c.event(goSwitch, g, c.next(g))
		*on = g
	case 13:
		c.event(goSwitchDestroy, g, c.next(g))
		*on = g
	case 14:
		c.event(stwBegin, uint64(b%16), uint64(a%4))
	case 15:
		c.event(stwEnd)
	case 16:
		c.cycle++
		c.event(gcBegin, c.cycle, uint64(a%4))
	case 17:
		c.event(gcActive, c.cycle)
	case 18:
		c.cycle++
		c.event(gcEnd, c.cycle)
	case 19:
		c.event(sweepBegin, 0)
	case 20:
		c.event(sweepEnd, 0, 0)
	case 21:
		c.event(assistBegin, 0)
	case 22:
		c.event(assistEnd)
	case 23:
		c.event(assistActive, g)
	case 24:
		c.event(heapAlloc, uint64(b)<<12)
	case 25:
		c.event(heapGoal, uint64(b)<<12)
	case 26:
		c.event(goLabel, 3+uint64(b%2))
	case 27:
		c.event(userLog, 0, 8+uint64(a%8), 0, 0)
	case 28:
		c.event(procStart, g, 1)
	case 29:
		c.event(procStop)
	case 30:
		c.event(procSteal, g, 1, uint64(b%threadCount))
	case 31:
		c.event(procStatus, g, 1)
	case 32:
		c.end()
		c.begin()
	case 33: // a generation that is missing
		c.end()
		c.generation += uint64(b%4) + 1
		c.begin()
	case 34: // goroutines that never were before
		c.distinct++
		c.event(goCreate, 1<<20+c.distinct, 0, 0)
	case 35:
		c.distinct++
		c.event(goStatus, 1<<20+c.distinct, 0, uint64(a>>6))
	case 36: // and marks of them
		c.distinct++
		c.event(goStart, 1<<20+c.distinct, 1)
		c.event(userLog, 0, 8+uint64(a%4), 0, 0)
	case 37: // threads
		c.flush()
		c.distinct++
		c.thread = 1<<20 + c.distinct
	case 38: // tables with nothing in them
		c.put(noThread, []byte{4 - 2*(a&1)})
	case 39: // batches with nothing in them
		c.put(c.thread, nil)
	case 40: // strings, each with a text of its own, and marks that name them
		c.distinct++
		id := 64 + c.distinct%4096
		text := binary.BigEndian.AppendUint64([]byte(MarkPrefix), c.distinct)
		table := binary.AppendUvarint([]byte{4, 5}, id)
		c.put(noThread, append(binary.AppendUvarint(table, uint64(len(text))), text...))
		c.event(userLog, 0, id, 0, 0)
	case 41:
		c.event(goCreateSyscall, g)
	case 42:
		c.event(goDestroySyscall)
	case 43:
		c.event(sweepActive, g)
	case 44:
		c.event(procsChange, uint64(b), 0)
	case 45: // a coroutine that was somewhere else meanwhile
		c.event(goSwitch, g, c.next(g))
		c.event(goBlock, 0, 0)
		c.event(goUnblock, g, c.next(g), 0)
		c.event(goStart, uint64(b%goroutines), c.next(uint64(b)))
		*on = uint64(b % goroutines)
	case 46: // a task, the part of another unless that is 0
		c.event(userTaskBegin, uint64(a), uint64(b%4), uint64(a%32), 0)
	case 47:
		c.event(userTaskEnd, uint64(a), 0)
	case 48: // tasks of goroutines that never were before
		c.distinct++
		c.event(goStart, 1<<20+c.distinct, 1)
		c.event(userTaskBegin, c.distinct, 0, uint64(a%32), 0)
	default: // anything at all
		c.batch = append(c.batch, a, b)
	}
}
