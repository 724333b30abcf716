package dotnetgc_test

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/stall"
)

// script writes the events of a runtime, in any order of time.
type script struct {
	o      nettracetest.Options
	w      *nettracetest.Writer
	events []nettracetest.Event
	mode   uint32 // PauseMode
}

func newScript(o nettracetest.Options) *script {
	if o.PointerSize == 0 {
		o.PointerSize = 8
	}
	return &script{o: o, w: nettracetest.New(o), mode: 1}
}

// machines are the processes that every scenario is played on.
var machines = map[string]nettracetest.Options{
	"linux, 64 bit":                  {Version: 4},
	"windows, 32 bit":                {Version: 4, PointerSize: 4, Frequency: 3124099, Plain: true},
	"another writer, 32 bit, 10 MHz": {Version: 6, PointerSize: 4, Frequency: 1e7},
}

func (s *script) event(at, thread uint64, id, version int, payload []byte) {
	s.events = append(s.events, nettracetest.Event{
		Provider: dotnetgc.Provider, ID: id, Version: version, Ticks: at, Thread: thread, Payload: payload,
	})
}

// flush ends a block. Threads of it that are out of order are put in order by
// the reader.
func (s *script) flush() {
	if len(s.events) > 0 {
		s.w.Events(s.events...)
		s.events = nil
	}
}

func (s *script) stream() []byte {
	s.flush()
	s.w.End()
	return s.w.Bytes()
}

func (s *script) play(t testing.TB) (dotnetgc.Output, dotnetgc.Stats) {
	t.Helper()
	return replay(t, s.stream())
}

// at scales ticks with no rounding but the last.
func (s *script) at(ticks uint64) stall.Instant {
	f := s.o.Frequency
	if f == 0 {
		f = 1e9
	}
	n := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(1e9))
	return stall.Instant(n.Div(n, big.NewInt(f)).Int64())
}

func words(v ...uint32) []byte {
	var b []byte
	for _, w := range v {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func (s *script) suspend(thread, at uint64, reason dotnetgc.SuspendReason) {
	s.event(at, thread, 9, 1, append(words(uint32(reason), 77), 0, 0))
}
func (s *script) suspended(thread, at uint64) { s.event(at, thread, 8, 1, []byte{0, 0}) }
func (s *script) restart(thread, at uint64)   { s.event(at, thread, 7, 1, []byte{0, 0}) }
func (s *script) restarted(thread, at uint64) { s.event(at, thread, 3, 1, []byte{0, 0}) }

// stop is all of one, with a tick between the events at each end.
func (s *script) stop(thread, from, to uint64, reason dotnetgc.SuspendReason) {
	s.suspend(thread, from, reason)
	s.suspended(thread, from+1)
	s.restart(thread, to)
	s.restarted(thread, to+1)
}

func (s *script) start(thread, at uint64, number, depth uint32, reason dotnetgc.Reason, typ dotnetgc.Type) {
	s.event(at, thread, 1, 2, append(words(number, depth, uint32(reason), uint32(typ)), make([]byte, 10)...))
}

func (s *script) end(thread, at uint64, number, depth uint32) {
	s.event(at, thread, 2, 1, append(words(number, depth), 0, 0))
}

// stats says that generation g has base+g bytes, and promoted 10*base+g.
func (s *script) stats(thread, at, base uint64) { s.statsOf(thread, at, base, 2) }

func (s *script) statsOf(thread, at, base uint64, version int) {
	var b []byte
	pair := func(g uint64) {
		b = binary.LittleEndian.AppendUint64(b, base+g)
		b = binary.LittleEndian.AppendUint64(b, 10*base+g)
	}
	for g := range uint64(4) {
		pair(g)
	}
	b = binary.LittleEndian.AppendUint64(b, 999) // bytes of finalizable objects
	b = binary.LittleEndian.AppendUint64(b, 5)   // their number
	b = append(b, words(3, 2, 1000)...)          // pinned, sync blocks, handles
	if version >= 1 {
		b = append(b, 0, 0)
	}
	if version >= 2 {
		pair(4)
	}
	s.event(at, thread, 4, version, b)
}

func (s *script) global(thread, at uint64, heaps, condemned, mechanisms uint32) {
	b := append(make([]byte, 8), words(heaps, condemned, 0, 4, mechanisms)...)
	b = append(append(b, 0, 0), words(s.mode, 42)...)
	b = append(b, words(0, 0, 2, 100, 200)...) // what later versions add
	s.event(at, thread, 205, 4, b)
}

// heap says of each field of generation g that it is base+10*g+its place.
func (s *script) heap(thread, at uint64, index uint32, base uint64) {
	s.heapOf(thread, at, index, base, 5)
}

func (s *script) heapOf(thread, at uint64, index uint32, base uint64, generations int) {
	b := make([]byte, 2)
	pointer := func(v uint64) {
		if s.o.PointerSize == 4 {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		} else {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	for range 6 {
		pointer(7)
	}
	b = append(b, words(1, 2, 3, 4, 5, index)...)
	pointer(8)
	b = append(b, words(uint32(generations))...)
	for g := range generations {
		for field := range 10 {
			pointer(base + uint64(10*g+field))
		}
	}
	s.event(at, thread, 204, 3, b)
}

const (
	blocking   = 0x1e
	concurrent = 0x15
)

// collect is a whole blocking collection on one thread, from tick t to t+20.
func (s *script) collect(thread, t uint64, number, depth uint32, typ dotnetgc.Type) {
	s.suspend(thread, t, dotnetgc.ForGC)
	s.suspended(thread, t+2)
	s.start(thread, t+3, number, depth, 0, typ)
	s.global(thread, t+10, 1, depth, blocking)
	s.heap(thread, t+11, 0, 1000*uint64(number))
	s.end(thread, t+12, number, depth)
	s.stats(thread, t+13, 500*uint64(number))
	s.restart(thread, t+15)
	s.restarted(thread, t+20)
}

// onAll plays a scenario on every machine.
func onAll(t *testing.T, f func(t *testing.T, s *script)) {
	for name, o := range machines {
		t.Run(name, func(t *testing.T) { f(t, newScript(o)) })
	}
}
