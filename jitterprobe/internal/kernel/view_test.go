package kernel

import (
	"encoding/binary"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

const (
	us = stall.Instant(time.Microsecond)
	t0 = stall.Instant(time.Hour)

	// Events of the rings.
	faultBegins, faultMinor, faultMajor = 1, 2, 3
	timerIn, timerOut, softIn, softOut  = 10, 11, 12, 13
	nmi, switches                       = 14, 15
)

// newView has rings that nobody writes: records are given to it by hand.
func newView() *View {
	v := &View{}
	v.thread.home = 3
	v.thread.since, v.thread.last = t0, t0
	v.thread.begins, v.thread.minor, v.thread.major = faultBegins, faultMinor, faultMajor
	v.cpu = cpu{
		names: map[uint64]string{}, switches: switches, comm: 8, pid: 24, state: 28, prio: 36, prevPrio: 40,
		points: map[uint64]point{
			timerIn:  {vector: 1, name: "local_timer", proof: true},
			timerOut: {vector: 1, name: "local_timer", exit: true},
			softIn:   {vector: 2, name: "softirq", soft: true, field: 8},
			softOut:  {vector: 2, name: "softirq", soft: true, exit: true},
			nmi:      {vector: 3, name: "NMI", single: true},
		},
	}
	v.cpu.since, v.cpu.last, v.cpu.ticked = t0, t0, t0
	return v
}

func at(n int) stall.Instant { return t0 + stall.Instant(n)*us }

func gap(from, to int) stall.Span { return stall.Span{Start: at(from), End: at(to)} }

func (v *View) out(n int, preempted bool) {
	v.thread.take(&perf.Record{Kind: perf.Switch, At: at(n), Out: true, Preempted: preempted, CPU: v.thread.home})
}

func (v *View) in(n int, cpu int32) {
	v.thread.take(&perf.Record{Kind: perf.Switch, At: at(n), CPU: cpu})
}

func (v *View) fault(n int, event uint64) {
	v.thread.take(&perf.Record{Kind: perf.Sample, At: at(n), Event: event, CPU: v.thread.home})
}

func (v *View) point(n int, event uint64, vec uint32) {
	raw := binary.LittleEndian.AppendUint32(make([]byte, 8), vec)
	v.cpu.take(&perf.Record{Kind: perf.Sample, At: at(n), Event: event, Raw: raw})
}

func (v *View) runs(n int, tid uint32, comm string) { v.runsAfter(n, tid, comm, 0) }

// runsAfter has a thread run after one of the state.
func (v *View) runsAfter(n int, tid uint32, comm string, state uint64) {
	v.runsWith(n, tid, comm, state, 120, 120)
}

// runsWith has a thread of the priority run after one of another.
func (v *View) runsWith(n int, tid uint32, comm string, state uint64, prio, prev int32) {
	raw := make([]byte, 24, 44)
	copy(raw[8:], comm)
	raw = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(raw, tid), state)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(prio))
	raw = binary.LittleEndian.AppendUint32(raw, uint32(prev))
	v.cpu.take(&perf.Record{Kind: perf.Sample, At: at(n), Event: switches, Raw: raw})
}
