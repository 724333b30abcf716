package jitterprobe

import "fmt"

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
