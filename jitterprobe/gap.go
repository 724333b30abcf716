package jitterprobe

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Gap is one stretch of time in which the probe could not run.
//
// Its interval begins with the last look before the gap and ends with the first one
// after; with Periodic it begins when the probe wanted to wake. Slack bounds its error
// against CLOCK_MONOTONIC. The cause is one of the machine, or RuntimeUnknown:
// HostUnknown if no evidence decides, HostIRQOrSteal if it is either of the two. The
// scope is ScopeCPU; ScopeCgroup if the cgroup that Owner names was throttled;
// ScopeProcess if only this process was stopped, or its runtime; ScopeMachine if the
// machine slept. CPU is that of the probe, -1 if it is not pinned.
type Gap struct {
	stall.Interval
	// Evidence decided the cause.
	Evidence Evidence
	// Runtime says that the gap lies across the way out of the Go runtime or back
	// into it, and is not the machine's by its records: the world was stopped, or
	// there was no P for the probe.
	Runtime bool
}

// Witness says what decided the cause of a gap. The list is closed, and only
// appended to: recordings hold the numbers.
type Witness uint8

const (
	NoWitness     Witness = iota // nothing did
	RuntimeDoor                  // the gap lies across the way out of the Go runtime, or back into it
	CgroupStat                   // cpu.stat of the cgroup says that it was throttled for so long
	IdleCPU                      // the thread could run, and its CPU was idle
	RealtimeLimit                // the thread has real-time priority, and one without had the CPU, or the gap has the shape of its limit
	BootClock                    // CLOCK_BOOTTIME went on while CLOCK_MONOTONIC stood still
	SwitchRecord                 // the kernel switched to another thread
	RunDelay                     // the kernel counted so much time of waiting for the CPU
	FaultRecord                  // the thread had page faults
	StopRecord                   // the thread could not run, and had no page fault
	Tracepoint                   // the CPU served interrupts
	Silence                      // the kernel did nothing, and no record is missing
	LateTimer                    // the timer came late, and the thread did not wait for the CPU
	EveryCPU                     // the gaps of all CPUs have this in common
	Remainder                    // the thread was not switched out and had no page fault
	ColdCache                    // the gap follows on one that took the thread off its CPU
	NumWitnesses                 // how many there are, not a witness
)

// Evidence says what decided the cause of a gap, and how much of the gap it
// accounts for. The zero Evidence says that nothing did.
type Evidence struct {
	Witness Witness
	// Time is the part of the gap that the witness accounts for.
	Time time.Duration
	// Count is how many switches, faults or interrupts fell into the gap; of
	// Remainder, how many switches and faults that account for too little of it.
	Count int32
	// TID is the thread that had the CPU instead, zero if it is not known.
	TID int32
	// Name is that of the thread, or of the interrupt that took the most time; of
	// RealtimeLimit it is the period, such as "1s", if that is known.
	Name string
	// Moved says that the probe's thread ran on on another CPU.
	Moved bool
}

// String says it in one line, such as "preempted by kworker/1:0 (thread 321)
// for 48µs". Empty if nothing decided. Hundreds of gaps a second are asked.
func (e Evidence) String() string {
	d := e.Time.Round(100 * time.Nanosecond)
	switch e.Witness {
	case RuntimeDoor:
		return "on the way out of the Go runtime or back into it"
	case CgroupStat:
		return "cpu.stat: throttled for " + d.String()
	case IdleCPU:
		return "ready to run while its CPU was idle for " + d.String()
	case RealtimeLimit:
		text := fmt.Sprintf("real-time limit: %v", d.Round(10*time.Microsecond))
		if e.Name != "" { // of one gap alone it is not known
			text += " of every " + e.Name
		}
		return text
	case BootClock:
		return fmt.Sprintf("the machine slept for %v", d.Round(time.Millisecond))
	case SwitchRecord:
		text := "preempted" + e.by() + " for " + d.String()
		if e.Moved {
			text += ", and moved to another CPU"
		}
		return text
	case RunDelay:
		return "schedstat: waited for the CPU for " + d.String()
	case FaultRecord:
		return count(e.Count, strings.TrimSpace(e.Name+" page fault")) + " in " + d.String()
	case StopRecord:
		return "stopped for " + d.String() + " by a signal, a debugger or a freezer"
	case Tracepoint:
		return count(e.Count, "interrupt") + " in " + d.String() + ", most of it " + e.Name
	case Silence:
		return "the kernel did nothing for " + d.String()
	case LateTimer:
		return fmt.Sprintf("the timer was %v late, and the thread did not wait for its CPU", d)
	case EveryCPU:
		return fmt.Sprintf("all %d CPUs at once", e.Count)
	case Remainder:
		if e.Count > 0 {
			return "not switched out and no page fault for " + d.String() + " of it"
		}
		return "not switched out, no page fault"
	case ColdCache:
		return "right behind the gap before: caches were cold for " + d.String()
	}
	return ""
}

// by names the thread that had the CPU.
func (e Evidence) by() string {
	switch {
	case e.Name != "":
		return " by " + e.Name + " (thread " + strconv.Itoa(int(e.TID)) + ")"
	case e.TID != 0:
		return " by thread " + strconv.Itoa(int(e.TID))
	}
	return ""
}

func count(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(int(n)) + " " + what + "s"
}

var witnessNames = [NumWitnesses]string{
	NoWitness:     "none",
	RuntimeDoor:   "runtime_door",
	CgroupStat:    "cpu_stat",
	IdleCPU:       "idle_cpu",
	RealtimeLimit: "realtime_limit",
	BootClock:     "boot_clock",
	SwitchRecord:  "switch_record",
	RunDelay:      "run_delay",
	FaultRecord:   "fault_record",
	StopRecord:    "stop_record",
	Tracepoint:    "tracepoint",
	Silence:       "kernel_silence",
	LateTimer:     "late_timer",
	EveryCPU:      "every_cpu",
	Remainder:     "no_switch_no_fault",
	ColdCache:     "cold_cache",
}

// String returns the name of w, such as switch_record.
func (w Witness) String() string {
	if w < NumWitnesses {
		return witnessNames[w]
	}
	return fmt.Sprintf("witness(%d)", uint8(w))
}
