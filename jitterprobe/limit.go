package jitterprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// Limit says which causes a probe cannot decide here, and what would mend it.
// Their gaps are called by what is left: host.irq_or_steal, host.unknown.
type Limit struct {
	Causes []stall.Cause
	Why    string
	Mend   string // empty if there is none
}

// String says it in one line.
func (l Limit) String() string {
	var b strings.Builder
	for i, c := range l.Causes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.String())
	}
	fmt.Fprintf(&b, " cannot be decided: %s", l.Why)
	if l.Mend != "" {
		b.WriteString(" (mend: " + l.Mend + ")")
	}
	return b.String()
}

// limits says what a judge with these means cannot decide.
func limits(m Mode, o Options, cgroups error, rights kernel.Rights) []Limit {
	var all []Limit
	if cgroups != nil {
		all = append(all, Limit{[]stall.Cause{stall.HostThrottled}, cgroups.Error(), "mount the cgroup hierarchy of the cpu controller"})
	}
	if m != Spin && m != Runtime {
		return append(all, Limit{
			[]stall.Cause{stall.HostFault, stall.HostIRQ, stall.HostSteal},
			"mode " + m.String() + " does not watch between two wake-ups", "use mode spin",
		})
	}
	if rights.Thread != nil {
		return append(all, Limit{
			[]stall.Cause{stall.HostFault, stall.HostIRQ, stall.HostSteal}, rights.Thread.Error(),
			"allow perf_event_open in the seccomp profile, and set kernel.perf_event_paranoid to 2 or grant CAP_PERFMON",
		})
	}
	if rights.CPU != nil {
		l := Limit{[]stall.Cause{stall.HostIRQ, stall.HostSteal}, rights.CPU.Error(), ""}
		if !o.Interrupts {
			l.Mend = "set Options.Interrupts"
		} else if errors.Is(rights.CPU, fs.ErrPermission) {
			l.Mend = "grant CAP_PERFMON, and mount tracefs where this process can read it or grant CAP_SYS_ADMIN"
		}
		all = append(all, l)
	}
	return all
}
