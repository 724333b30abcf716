package jitterprobe

import "fmt"

// Reason says why a probe does not run as it was asked to. The list is closed.
type Reason uint8

const (
	NoReason     Reason = iota // it does
	NoAssembly                 // this build has no code for the mode
	NoCounter                  // the cycle counter cannot be trusted
	OneCPU                     // a spinner would take the only CPU
	CPUQuota                   // a spinner would use up a cgroup's quota
	QuotaUnknown               // the cgroup's files cannot be read
	NotPermitted               // the kernel refused a thread, or to pin it
	CoarseSleep                // there is no precise sleep
	StuckThread                // the thread did not end when told to
	numReasons
)

var reasonNames = [numReasons]string{
	"none", "no_assembly", "no_counter", "one_cpu", "cpu_quota", "quota_unknown", "not_permitted", "coarse_sleep", "stuck_thread",
}

// String returns a name such as "cpu_quota".
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
